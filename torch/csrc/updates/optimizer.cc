// Optimizer steps over all parameters in one call.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <numeric>

#include "api_optimizer.h"
#include "border/common.h"
#include "devices/isa.h"

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

// The sum of squares in double: in float32 the square of 2e19 is infinite, and a large sum loses what is small beside
// it. Its order is the same with all instruction sets.
template <class T>
[[gnu::always_inline]] inline double squares(const T *x, int64_t n) {
  constexpr int64_t kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int64_t k = 0; k < kLanes; ++k) {
      const double y = x[i + k];
      lanes[k] += y * y;
    }
  }
  double sum = 0;
  for (double lane : lanes) sum += lane;
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

AP_KERNEL(double, squares_float, const float *x, int64_t n) { return squares(x, n); }

AP_KERNEL(double, squares_double, const double *x, int64_t n) { return squares(x, n); }

// The same of a tensor on the CPU, from pieces of one size, so that it is the same for any number of threads.
double square_sum(const at::Tensor &given) {
  constexpr int64_t kPiece = at::internal::GRAIN_SIZE;
  const bool wide = given.scalar_type() == at::kDouble;
  const at::Tensor x = given.to(wide ? at::kDouble : at::kFloat).contiguous();
  std::vector<double> pieces((x.numel() + kPiece - 1) / kPiece);
  at::parallel_for(0, pieces.size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t start = p * kPiece, n = std::min(kPiece, x.numel() - start);
      pieces[p] = wide ? squares_double(x.const_data_ptr<double>() + start, n)
                       : squares_float(x.const_data_ptr<float>() + start, n);
    }
  });
  return std::accumulate(pieces.begin(), pieces.end(), 0.0);
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
    for (const at::Tensor &g : active.grads) square += square_sum(g);
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
