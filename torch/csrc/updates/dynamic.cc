// The two passes over all weights that dynamic evaluation makes.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "api_dynamic.h"
#include "border/common.h"

using namespace ap;

namespace {

// Elements that a thread takes at a time.
constexpr int64_t kGrain = 1 << 15;

bool plain(const at::Tensor &x) { return x.device().is_cpu() && x.scalar_type() == at::kFloat && x.is_contiguous(); }

void add_squares(at::Tensor &sum, const at::Tensor &grad) {
  if (!plain(sum) || !plain(grad)) {
    sum.addcmul_(grad, grad);
    return;
  }
  float *s = sum.data_ptr<float>();
  const float *g = grad.data_ptr<float>();
  at::parallel_for(0, sum.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) s[i] += g[i] * g[i];
  });
}

// p += min(decay rms / mean, 1) (start - p) - rate g / (rms + eps), where g may be undefined.
void step(at::Tensor &p, const at::Tensor &start, const at::Tensor &rms, const at::Tensor &grad, double rate, double decay, double mean, double eps) {
  if (!plain(p) || !plain(start) || !plain(rms) || (grad.defined() && !plain(grad))) {
    at::Tensor move = (rms * (decay / mean)).clamp_max(1).mul_(start - p);
    if (grad.defined()) move.sub_(grad / (rms + eps), rate);
    p.add_(move);
    return;
  }
  float *w = p.data_ptr<float>();
  const float *w0 = start.data_ptr<float>(), *r = rms.data_ptr<float>(), *g = grad.defined() ? grad.data_ptr<float>() : nullptr;
  const float pull = static_cast<float>(decay / mean), eta = static_cast<float>(rate), e = static_cast<float>(eps);
  at::parallel_for(0, p.numel(), kGrain, [&](int64_t begin, int64_t end) {
    if (g == nullptr) {
      for (int64_t i = begin; i < end; ++i) w[i] += std::min(pull * r[i], 1.f) * (w0[i] - w[i]);
      return;
    }
    for (int64_t i = begin; i < end; ++i) w[i] += std::min(pull * r[i], 1.f) * (w0[i] - w[i]) - eta * g[i] / (r[i] + e);
  });
}

}  // namespace

extern "C" {

ap_error ap_add_squares(ap_tensor *sums, ap_tensor *params, int n) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    for (int i = 0; i < n; ++i) {
      const at::Tensor &grad = get(params[i]).grad();
      if (grad.defined()) add_squares(get(sums[i]), grad);
    }
  });
}

ap_error ap_dynamic_step(ap_tensor *params, ap_tensor *start, ap_tensor *rms, int n, double rate, double decay, double mean, double eps) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    for (int i = 0; i < n; ++i) step(get(params[i]), get(start[i]), get(rms[i]), get(params[i]).grad(), rate, decay, mean, eps);
  });
}

}  // extern "C"
