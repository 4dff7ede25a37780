// Optimizer steps over all parameters in one call.
#include <ATen/Functions.h>

#include <cmath>

#include "api_optimizer.h"
#include "border/common.h"

using namespace ap;

namespace {

// The parameters that have a gradient, with what belongs to them.
struct Active {
  std::vector<at::Tensor> params, grads;
  std::vector<int> index;
  Active(ap_tensor *xs, int n) {
    for (int i = 0; i < n; ++i) {
      const at::Tensor &g = get(xs[i]).grad();
      if (!g.defined()) continue;
      params.push_back(get(xs[i]));
      grads.push_back(g);
      index.push_back(i);
    }
  }
  std::vector<at::Tensor> pick(ap_tensor *xs) const {
    std::vector<at::Tensor> out;
    for (int i : index) out.push_back(get(xs[i]));
    return out;
  }
};

// Clips without waiting, and gives the norm where it was computed. A norm that is not finite scales nothing.
at::Tensor clip_on_device(const std::vector<at::Tensor> &grads, double limit) {
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(grads, 2, at::kDouble)));
  if (limit > 0) {
    at::Tensor divisor = at::empty({}, grads[0].options());
    at::mul_out(divisor, norm.nan_to_num(0, 0, 0).add_(1e-6), at::scalar_tensor(1 / limit, at::kDouble));
    at::_foreach_div_(grads, divisor.clamp_min_(1));
  }
  return norm;
}

}  // namespace

extern "C" {

ap_error ap_adam(ap_tensor *params, ap_tensor *m, ap_tensor *v, int n, double rate, double beta1, double beta2, double eps, double decay,
                 bool decoupled, int64_t step) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    Active active(params, n);
    if (active.params.empty()) return;
    // The kernels read it for each parameter; one tensor serves all.
    const std::vector<at::Tensor> steps(active.params.size(), at::full({}, static_cast<double>(step), active.params[0].options().dtype(at::kFloat)));
    auto means = active.pick(m), squares = active.pick(v);
    if (decoupled)
      at::_fused_adamw_(active.params, active.grads, means, squares, {}, steps, rate, beta1, beta2, decay, eps, false, false);
    else
      at::_fused_adam_(active.params, active.grads, means, squares, {}, steps, rate, beta1, beta2, decay, eps, false, false);
  });
}

ap_error ap_sgd(ap_tensor *params, int n, double rate, double decay) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    Active active(params, n);
    if (!active.params.empty()) at::_fused_sgd_(active.params, active.grads, {}, decay, 0, rate, 0, false, false, false);
  });
}

// PyTorch's clip_grad_norm_ adds 1e-6 to the norm and never scales up.
ap_error ap_clip(ap_tensor *params, int n, double limit, ap_tensor *norm) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    Active active(params, n);
    if (!active.grads.empty() && !active.grads[0].is_cpu()) {
      *norm = wrap(clip_on_device(active.grads, limit));
      return;
    }
    double square = 0;
    if (!active.grads.empty()) {
      for (const auto &length : at::_foreach_norm(active.grads, 2)) {
        const double x = length.item<double>();
        square += x * x;
      }
    }
    const double root = std::sqrt(square);
    if (limit > 0 && std::isfinite(root) && limit < root + 1e-6) at::_foreach_mul_(active.grads, limit / (root + 1e-6));
    *norm = wrap(at::scalar_tensor(root, at::kDouble));
  });
}

ap_error ap_lerp(ap_tensor *average, ap_tensor *params, int n, double weight) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    if (n > 0 && !get(params[0]).is_cpu()) {
      std::vector<at::Tensor> averages, targets;
      for (int i = 0; i < n; ++i) averages.push_back(get(average[i])), targets.push_back(get(params[i]));
      at::_foreach_lerp_(averages, targets, weight);
      return;
    }
    for (int i = 0; i < n; ++i) get(average[i]).lerp_(get(params[i]), weight);
  });
}

}  // extern "C"
