#include "continuous_rows.h"

#include <ATen/Functions.h>

#include "border/common.h"
#include "vmf.h"

namespace ap {
namespace {

// What a loss sees of its rows, each [N] in float64.
struct Columns {
  at::Tensor kappa, dot, wrong, distance2, has_wrong;  // |h|, h.e, h.n, |h - e|^2

  // 1/|h| where it is longer than least, else 0.
  at::Tensor inverse(double least) const { return at::where(kappa > least, kappa.reciprocal(), 0.0); }
};

// lgamma(a) - lgamma(a + b) for a and b > 0, without the difference of large numbers; a is at least b.
at::Tensor log_gamma_quotient(at::Tensor a, double b) {
  at::Tensor shift = at::zeros_like(a);
  for (double least = b; least < 20; ++least) {
    const at::Tensor small = a < 20;
    shift = shift + at::where(small, (a.reciprocal() * b).log1p(), 0.0);
    a = a + small.to(at::kDouble);
  }
  const auto tail = [](const at::Tensor &x) {
    const at::Tensor y = x.pow(-2);
    return ((((y * (-1.0 / 1680) + 1.0 / 1260) * y * -1 + 1.0 / 360) * y * -1) + 1.0 / 12) / x;
  };
  return shift - (a - 0.5) * (a.reciprocal() * b).log1p() - (a + b).log() * b + b + tail(a) - tail(a + b);
}

void von_mises_fisher(const ContinuousForm &form, const Columns &x, int64_t m, ContinuousRows *r) {
  const auto value = VMFNormaliser(m)(x.kappa);
  const at::Tensor inverse = x.inverse(1e-150);
  r->nll_N = -value.log_c - x.dot;
  if (form.kind == kLog1p) {
    const at::Tensor c = x.dot * inverse, log1p = x.kappa.log1p(), falloff = (x.kappa + 1).reciprocal(), past = form.lambda1 - c;
    r->loss_N = log1p * past - value.log_c;
    r->of_h_N = value.slope + (past * falloff + c * log1p * inverse) * inverse;
    r->of_e_N = at::where(inverse > 0, -log1p * inverse, -1.0);
    return;
  }
  const double lambda1 = form.kind == kReg1 || form.kind == kReg1Reg2 ? form.lambda1 : 0;
  const double lambda2 = form.kind == kReg2 || form.kind == kReg1Reg2 ? form.lambda2 : 1;
  r->loss_N = -value.log_c - x.dot * lambda2;
  if (lambda1 != 0) r->loss_N = r->loss_N + x.kappa * lambda1;
  r->of_h_N = value.slope + inverse * lambda1;
  r->of_e_N = at::full_like(x.kappa, -lambda2);
}

void power_spherical(const Columns &x, int64_t m, ContinuousRows *r) {
  constexpr double log2 = 0.69314718055994530942, log_pi = 1.1447298858494001741;
  const double b = 0.5 * static_cast<double>(m - 1);
  const at::Tensor inverse = x.inverse(1e-150), c = x.dot * inverse, plus = (c + 1).clamp_min(kAntipode), log_plus = plus.log();
  at::Tensor constant = at::zeros_like(c), slope = constant;
  if (b > 0) {
    const at::Tensor a = x.kappa + b;
    constant = log_gamma_quotient(a, b), slope = a.digamma() - (a + b).digamma();
  }
  r->loss_N = r->nll_N = (x.kappa + 2 * b) * log2 + b * log_pi + constant - x.kappa * log_plus;
  const at::Tensor turn = at::where(c + 1 > kAntipode, plus.reciprocal(), 0.0);
  r->of_h_N = (slope - log_plus + log2) * inverse + turn * c * inverse;
  r->of_e_N = -turn;
}

void by_cosine(const ContinuousForm &form, const Columns &x, ContinuousRows *r) {
  const at::Tensor inverse = x.inverse(kNoDirection), c = x.dot * inverse;
  r->nll_N = 1 - c;
  r->of_h_N = c * inverse * inverse, r->of_e_N = -inverse;
  if (form.kind == kCosine) {
    r->loss_N = r->nll_N;
    return;
  }
  const at::Tensor other = x.wrong * inverse, margin = other - c + form.lambda1, pays = x.has_wrong.logical_and(margin > 0).to(at::kDouble);
  r->loss_N = margin * pays;
  r->of_h_N = (r->of_h_N - other * inverse * inverse) * pays, r->of_e_N = r->of_e_N * pays, r->of_n_N = inverse * pays;
}

}  // namespace

ContinuousRows continuous_rows(const ContinuousForm &form, const at::Tensor &h_NM, const at::Tensor &table_VM, const at::Tensor &targets_N,
                               const std::optional<at::Tensor> &negatives_N, int64_t ignore) {
  const at::Tensor y_N = moved(targets_N, h_NM.device(), at::kLong);
  ContinuousRows r;
  r.ignored_N = y_N.eq(ignore);
  const at::Tensor safe_N = y_N.masked_fill(r.ignored_N, 0);
  const auto gather = [&](const at::Tensor &ids_N) { return table_VM.index_select(0, ids_N).to(at::kDouble); };
  r.h_NM = h_NM.to(at::kDouble), r.e_NM = gather(safe_N);
  Columns x = {at::linalg_vector_norm(r.h_NM, 2, {1}), (r.h_NM * r.e_NM).sum(1), {}, {}, {}};
  switch (form.kind) {
    case kPowerSpherical: power_spherical(x, h_NM.size(1), &r); break;
    case kSquaredL2:
    case kRootedL2:
      x.distance2 = (r.h_NM - r.e_NM).square().sum(1);
      r.of_h_N = at::full_like(x.distance2, 2), r.loss_N = x.distance2;
      if (form.kind == kRootedL2) {
        r.loss_N = at::where(x.kappa > 1e100, x.kappa, x.distance2.sqrt());
        r.of_h_N = at::where(r.loss_N > 0, r.loss_N.reciprocal(), 0.0);
      }
      r.of_e_N = -r.of_h_N, r.nll_N = r.loss_N;
      break;
    case kMaxMargin: {
      const at::Tensor n_N = moved(*negatives_N, h_NM.device(), at::kLong);
      x.has_wrong = n_N >= 0;
      r.n_NM = gather(at::where(x.has_wrong, n_N, safe_N));
      x.wrong = (r.h_NM * r.n_NM).sum(1);
      [[fallthrough]];
    }
    case kCosine: by_cosine(form, x, &r); break;
    default: von_mises_fisher(form, x, h_NM.size(1), &r);
  }
  r.loss_N = r.loss_N.masked_fill(r.ignored_N, 0), r.nll_N = r.nll_N.masked_fill(r.ignored_N, 0);
  return r;
}

at::Tensor ContinuousRows::gradient(double scale) const {
  const auto part = [&](const at::Tensor &factor_N, const at::Tensor &x_NM) { return factor_N.masked_fill(ignored_N, 0).mul_(scale).unsqueeze(1) * x_NM; };
  at::Tensor sum_NM = part(of_h_N, h_NM).nan_to_num_(0, std::nullopt, std::nullopt) + part(of_e_N, e_NM);
  return n_NM.defined() ? sum_NM.add_(part(of_n_N, n_NM)) : sum_NM;
}

}  // namespace ap
