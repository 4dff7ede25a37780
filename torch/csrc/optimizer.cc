// Optimizer steps over all parameters in one call.
#include <ATen/Functions.h>

#include <cmath>

#include "api_optimizer.h"
#include "common.h"

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

}  // namespace

extern "C" {

ap_error ap_adam(ap_tensor *params, ap_tensor *m, ap_tensor *v, int n, double rate, double beta1, double beta2, double eps, double decay,
                 bool decoupled, int64_t step) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    Active active(params, n);
    if (active.params.empty()) return;
    std::vector<at::Tensor> steps;
    for (const auto &p : active.params) steps.push_back(at::full({}, static_cast<double>(step), p.options().dtype(at::kFloat)));
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
    for (size_t i = 0; i < active.params.size(); ++i) {
      at::Tensor &p = active.params[i];
      if (decay != 0) {
        p.add_(at::add(active.grads[i], p, decay), -rate);
      } else {
        p.add_(active.grads[i], -rate);
      }
    }
  });
}

ap_error ap_clip(ap_tensor *params, int n, double limit, double *norm) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    Active active(params, n);
    *norm = 0;
    if (active.grads.empty()) return;
    double square = 0;
    for (const auto &length : at::_foreach_norm(active.grads, 2)) {
      const double x = length.item<double>();
      square += x * x;
    }
    *norm = std::sqrt(square);
    // PyTorch's clip_grad_norm_ adds 1e-6 to the norm and never scales up.
    if (limit > 0 && std::isfinite(*norm) && limit < *norm + 1e-6) at::_foreach_mul_(active.grads, limit / (*norm + 1e-6));
  });
}

ap_error ap_scale_grad(ap_tensor *params, int n, double factor) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    Active active(params, n);
    if (!active.grads.empty()) at::_foreach_mul_(active.grads, factor);
  });
}

ap_error ap_lerp(ap_tensor *average, ap_tensor *params, int n, double weight) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    for (int i = 0; i < n; ++i) get(average[i]).lerp_(get(params[i]), weight);
  });
}

}  // extern "C"
