// log C_m(kappa) and its derivative, one element at a time.
//
// With g_v(kappa) = log(kappa^-v I_v(kappa)), log C_m = -g_v - (m/2) log 2 pi. For
// large orders N the uniform expansion (Debye; DLMF 10.41.3) gives, with
// s = sqrt(1 + (kappa/N)^2) and t = 1/s,
//
//   g_N = N (s - log(1 + s) - log N) - 1/2 log(2 pi N) - 1/2 log s + log(1 + sum_k U_k(t)/N^k)
//
// in which the powers of kappa have cancelled. Its derivative is taken term by term.
// Small orders are reached from a large one: the ratios rho_v = I_(v+1)/(kappa I_v)
// obey rho_v = 1/(2 (v + 1) + kappa^2 rho_(v+1)), a recurrence of positive terms
// that forgets errors, and g_v = g_(v+1) - log rho_v.
#include "vmf.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "api_vmf.h"
#include "border/common.h"
#include "border/operator.h"

namespace ap {

namespace {
constexpr double kLog2Pi = 1.8378770664093454836;
}

VMFNormaliser::VMFNormaliser(int64_t m) : steps_(0), v_(0.5 * static_cast<double>(m) - 1) {
  if (v_ < kOrder) steps_ = static_cast<int>(std::ceil(kOrder - v_));
  order_ = v_ + steps_;
  constant_ = order_ * std::log(order_) + 0.5 * (kLog2Pi + std::log(order_)) - 0.5 * static_cast<double>(m) * kLog2Pi;
  // U_(k+1)(t) = 1/2 t^2 (1 - t^2) U_k'(t) + 1/8 integral from 0 to t of (1 - 5 x^2) U_k(x) dx, U_0 = 1.
  double before[kTerms + 2] = {1}, power = 1;
  for (int k = 0; k < kTerms; ++k) {
    double next[kTerms + 2] = {};
    for (int i = 0; i <= k; ++i) {  // the term t^p of U_k, p = k + 2 i, gives t^(p+1) and t^(p+3)
      const double p = k + 2 * i;
      next[i] += before[i] * (0.5 * p + 1 / (8 * (p + 1)));
      next[i + 1] -= before[i] * (0.5 * p + 5 / (8 * (p + 3)));
    }
    power *= order_;
    for (int i = 0; i <= kTerms; ++i) u_[k][i] = next[i] / power;
    std::copy(next, next + kTerms + 2, before);
  }
}

VMFNormaliser::Value VMFNormaliser::operator()(double kappa) const {
  const double size = std::fabs(kappa);
  if (!(size <= std::numeric_limits<double>::max()))
    return {-size, std::isnan(kappa) ? kappa : std::copysign(1.0, kappa), std::isnan(kappa) ? kappa : 0.0};
  const double n = order_, s = std::hypot(1.0, size / n), t = 1 / s, tt = t * t;
  double sum = 0, derivative = 0;  // of U_k(t)/N^k over k >= 1, and of their derivatives
  double power = 1;                // t^(k-1)
  for (int k = 1; k <= kTerms; ++k) {
    double value = 0, slope = 0;
    for (int i = k; i >= 0; --i) {
      value = value * tt + u_[k - 1][i];
      slope = slope * tt + u_[k - 1][i] * (k + 2 * i);
    }
    sum += value * power * t;
    derivative += slope * power;
    power *= t;
  }
  const double g = n * (s - std::log1p(s)) - 0.5 * std::log(s) + std::log1p(sum);
  // Ratios are kept times max(kappa, 1), so that no kappa overflows them.
  const double scale = std::max(size, 1.0), share = size / scale, share2 = share * share;
  double ratio = scale * (1 / (n * (1 + s)) - tt / (2 * n * n) - t * tt * derivative / ((1 + sum) * n * n)), product = 1;
  for (int j = steps_; j >= 1; --j) {
    ratio = 1 / (2 * (v_ + j) / scale + share2 * ratio);
    product *= ratio;
  }
  double log_c = constant_ - g;
  if (steps_ > 0) log_c += std::log(product) - steps_ * std::log(scale);
  return {log_c, std::copysign(std::min(share * ratio, 1.0), kappa), ratio / scale};
}

// The expansion's polynomials are one in t: sum_p a_p t^p with p = k + 2 i, whose derivative is sum_p p a_p t^(p-1).
VMFNormaliser::Values VMFNormaliser::operator()(const at::Tensor &kappa) const {
  constexpr int powers = 3 * kTerms + 1;
  at::Tensor coefficients = at::zeros({powers, 2}, at::kDouble);
  auto c = coefficients.accessor<double, 2>();
  for (int k = 1; k <= kTerms; ++k) {
    for (int i = 0; i <= k; ++i) {
      const int p = k + 2 * i;
      c[p][0] += u_[k - 1][i];
      c[p - 1][1] += u_[k - 1][i] * p;
    }
  }
  coefficients = moved(coefficients, kappa.device(), at::kDouble);
  const at::Tensor finite = kappa.isfinite(), size = kappa.abs().masked_fill(finite.logical_not(), 0);
  const double n = order_;
  const at::Tensor s = at::hypot(size / n, at::ones_like(size)), t = s.reciprocal(), tt = t * t;
  const at::Tensor sums = at::matmul(t.unsqueeze(-1).pow(at::arange(powers, t.options())), coefficients);
  const at::Tensor sum = sums.select(-1, 0), derivative = sums.select(-1, 1);
  at::Tensor log_c = (s - s.log1p()) * -n + s.log() * 0.5 - sum.log1p() + constant_;
  const at::Tensor scale = size.clamp_min(1), share = size / scale, share2 = share * share;
  at::Tensor ratio = scale * ((s + 1).mul(n).reciprocal() - tt / (2 * n * n) - t * tt * derivative / ((sum + 1) * (n * n)));
  if (steps_ > 0) {
    at::Tensor product;
    const at::Tensor inverse = scale.reciprocal();
    for (int j = steps_; j >= 1; --j) {
      ratio = (share2 * ratio).add_(inverse, 2 * (v_ + j)).reciprocal_();
      product = product.defined() ? product * ratio : ratio;
    }
    log_c = log_c + product.log() - scale.log() * steps_;
  }
  // Of the ratio where kappa is infinite, and no number where it is none; sign would make that 0.
  const at::Tensor limit = kappa.clamp(-1, 1);
  return {at::where(finite, log_c, -kappa.abs()), at::where(finite, (share * ratio).clamp_max(1) * kappa.sign(), limit),
          at::where(finite, ratio / scale, kappa * 0)};
}

namespace {

// VMFNormaliser, element by element.
class Normaliser : public Operator {
 public:
  explicit Normaliser(int64_t m) : m_(m) {}

  Tensors forward(const Tensors &operands) override {
    type_ = operands[0].scalar_type();
    const at::Tensor k = operands[0].to(at::kDouble).contiguous();
    at::Tensor log_c, ratio;
    const VMFNormaliser normaliser(m_);
    if (k.is_cpu()) {
      log_c = at::empty_like(k), ratio = at::empty_like(k);
      const double *in = k.const_data_ptr<double>();
      double *out = log_c.mutable_data_ptr<double>(), *slope = ratio.mutable_data_ptr<double>();
      at::parallel_for(0, k.numel(), 256, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto value = normaliser(in[i]);
          out[i] = value.log_c;
          slope[i] = value.ratio;
        }
      });
    } else {
      const auto values = normaliser(k);
      log_c = values.log_c, ratio = values.ratio;
    }
    save_for_backward({ratio});
    mark_non_differentiable({ratio});
    return {log_c, ratio};
  }

  Tensors backward(const Tensors &grads) override {
    return {(grads[0] * saved_tensors()[0]).neg_().to(type_)};
  }

 private:
  int64_t m_;
  at::ScalarType type_ = at::kDouble;
};

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" {

ap_error ap_vmf_normaliser(ap_tensor kappa, int64_t m, ap_tensor *log_c, ap_tensor *ratio) {
  return guard([&] {
    TORCH_CHECK(m >= 1, "a density of unit vectors needs at least one component, not ", m);
    const Tensors results = recorded<Normaliser>({get(kappa)}, m);
    *log_c = wrap(results[0]);
    *ratio = wrap(results[1].detach());
  });
}

}  // extern "C"
