// The loss of a softmax over a vocabulary, in the way of output_loss.h.
//
//   nll_n  = lse_n - logits_n,y
//   loss_n = on * nll_n + off * sum_j (lse_n - logits_n,j)
//
// where (on, off) say how label smoothing spreads the target's mass.
//
// A shift lowers the target's logit in the loss: logits'_n,y = logits_n,y -
// shift_n, and primes mark what follows from it. The odds against the target
// grow by exp(shift), so that the clean nll is had back without a second pass:
//
//   nll_n   = log(1 + exp(-shift_n) (exp(nll'_n) - 1))
//
// The smoothed mass sees the clean logits:
//
//   loss'_n = (on + off) nll'_n + off * sum_{j != y} (lse_n - logits_n,j)
//           = on * nll'_n + off * sum_j (lse'_n - logits'_n,j) + off (V - 1) (lse_n - lse'_n)
//
// The shift gets a gradient like any operand. What it is a function of, and
// which of that is differentiated, is the caller's affair.
//
// The z-loss adds zeta lse_n^2, of clean logits whatever the shift, to which it
// gives no gradient; its gradient in the logits is 2 zeta lse_n p_nj.
//
// Legend: C positions of a chunk, V vocabulary.
#include <ATen/Functions.h>
#include <ATen/core/Reduction.h>

#include <cmath>

#include "api_softmax_loss.h"
#include "border/common.h"
#include "output_loss.h"
#include "softmax_row.h"

namespace ap {
namespace {

// Turns a row of logits into its gradient (when wanted) and returns the row's loss. shift, and with it
// shifted and g_shift, may be null.
template <class T>
double softmax_row(T *row, int64_t V, int64_t target, const Terms &terms, const T *shift, T *nll, T *shifted, T *g_shift) {
  const double on = terms.on, off = terms.off, logit = row[target];
  if (shift) row[target] -= *shift;
  const double lowered = std::isfinite(logit) ? logit - row[target] : 0;  // the shift, as rounding has left it
  const double shifted_logit = row[target];
  const Sums sums = exponentials(row, V, terms.gradients);
  const double log_total = std::log(sums.total), own = sums.top - shifted_logit + log_total;
  double loss = weighted(on, own) + weighted(off, V * log_total - sums.plain);
  double mass = on + off * V, at_target = on;  // the gradient is mass * p'_j - off, and at_target less at the target
  double clean = own;
  if (shift) {
    clean = without_shift(own, lowered);
    *shifted = static_cast<T>(own);
    double gradient = mass * std::exp(-own) - off - on;  // of the shifted logit
    if (off != 0) {
      const double others = off * (V - 1), rise = clean - own + lowered;  // lse - lse'
      loss += others * rise;
      mass += others * std::expm1(-rise);
      at_target += others * (std::exp(-own - rise) - std::exp(-clean));
      gradient = (on + off) * std::expm1(-own);
    }
    if (g_shift) *g_shift = static_cast<T>(-terms.scale * gradient);
  }
  *nll = static_cast<T>(clean);
  if (terms.z_loss != 0) {
    const double rise = lowered != 0 ? clean - own + lowered : 0, lse = sums.top + log_total + rise;
    const double pull = 2 * terms.z_loss * lse;
    loss += terms.z_loss * lse * lse;
    mass += pull * std::exp(-rise);  // p_j is p'_j exp(-rise), but for the target's
    at_target += pull * (std::exp(-own - rise) - std::exp(-clean));
  }
  if (terms.gradients) {
    scale_and_lower(row, V, static_cast<T>(terms.scale * mass / sums.total), static_cast<T>(terms.scale * off));
    row[target] -= static_cast<T>(terms.scale * at_target);
  }
  return loss;
}

template <class T>
double softmax_rows(at::Tensor &logits_CV, const at::Tensor &targets_C, const Terms &terms, const Positions &positions) {
  const int64_t V = logits_CV.size(1), *targets = targets_C.const_data_ptr<int64_t>();
  T *shift = elements<T>(positions.shift), *nll = elements<T>(positions.nll_N);
  T *shifted = elements<T>(positions.shifted_N), *g_shift = elements<T>(positions.g_shift);
  return sum_positions(logits_CV.size(0), [&](int64_t begin, int64_t end, double *losses) {
    const auto at = [](T *x, int64_t n) { return x ? x + n : nullptr; };
    LogitRows<T> rows(logits_CV);
    for (int64_t n = begin; n < end; ++n) {
      losses[n] = softmax_row<T>(rows.take(n, 1), V, targets[n], terms, at(shift, n), nll + n, at(shifted, n), at(g_shift, n));
      if (terms.gradients) rows.keep(n, 1);
    }
  });
}

// The same of rows with equal factors, for gradients that are bare, in few launches and few passes over the logits.
at::Tensor softmax_rows_bare(at::Tensor &logits_CV, const at::Tensor &targets_C, const Terms &terms, const Positions &positions) {
  const at::Tensor log_p_CV = at::log_softmax(logits_CV, 1, positions.nll_N.scalar_type());
  at::Tensor nll_C = positions.nll_N, unused = at::empty({}, nll_C.options());
  at::nll_loss_forward_out(nll_C, unused, log_p_CV, targets_C, {}, at::Reduction::None, -100);
  at::Tensor loss = nll_C.sum().mul_(terms.scale * terms.on);
  if (terms.off != 0) loss.sub_(log_p_CV.sum(), terms.scale * terms.off);
  if (!terms.gradients) return loss;
  const at::Tensor index_C1 = targets_C.unsqueeze(1);
  if (log_p_CV.scalar_type() == terms.product) {
    logits_CV = log_p_CV.exp_().scatter_(1, index_C1, -terms.on, "add");
    return loss;
  }
  logits_CV = at::empty(log_p_CV.sizes(), log_p_CV.options().dtype(terms.product));
  at::exp_out(logits_CV, log_p_CV);
  const at::Tensor at_target_C = nll_C.neg().exp_().sub_(terms.on);  // before it is rounded
  logits_CV.scatter_(1, index_C1, at_target_C.unsqueeze(1).to(terms.product));
  return loss;
}

// The rows of a chunk on another device or of another type, by libtorch's own operators.
at::Tensor softmax_rows_generic(at::Tensor &logits_CV, const at::Tensor &targets_C, const Terms &terms, const Positions &positions) {
  if (terms.bare) return softmax_rows_bare(logits_CV, targets_C, terms, positions);
  const int64_t V = logits_CV.size(1);
  const double on = terms.on, off = terms.off;
  const at::ScalarType type = positions.nll_N.scalar_type();
  const at::Tensor index_C1 = targets_C.unsqueeze(1);
  const bool shift = positions.shift.defined();
  at::Tensor log_p_CV, logit_C;
  if (terms.z_loss != 0) logit_C = logits_CV.gather(1, index_C1).squeeze(1).to(type);
  if (shift)  // in the wider type, in which a small shift is not lost
    log_p_CV = logits_CV.to(type).scatter_add_(1, index_C1, positions.shift.unsqueeze(1).neg()).log_softmax(1);
  else
    log_p_CV = at::log_softmax(logits_CV, 1, type);
  at::Tensor own_C = shift ? at::empty_like(positions.nll_N) : positions.nll_N;
  at::neg_out(own_C, log_p_CV.gather(1, index_C1).squeeze(1));
  at::Tensor loss = weighted_sum(terms.scale * on, own_C);
  if (off != 0) loss.sub_(log_p_CV.sum(), terms.scale * off);  // a sum of all in double would be one of a copy in double
  at::Tensor clean_C = own_C, mass_C = at::full_like(own_C, on + off * V), at_target_C = at::full_like(own_C, on), rise_C;
  if (shift) {
    const at::Tensor odds_C = at::where(own_C < 30, own_C.expm1().log(), own_C) - positions.shift;
    clean_C = at::logaddexp(odds_C, at::zeros_like(odds_C));
    rise_C = clean_C - own_C + positions.shift;
    positions.shifted_N.copy_(own_C);
    at::Tensor gradient_C = (-own_C).exp() * (on + off * V) - (on + off);
    if (off != 0) {
      const double others = off * (V - 1);
      loss.add_(weighted_sum(terms.scale * others, rise_C));
      mass_C = mass_C + (-rise_C).expm1() * others;
      at_target_C = at_target_C + ((-own_C - rise_C).exp() - (-clean_C).exp()) * others;
      gradient_C = (-own_C).expm1() * (on + off);
    }
    if (positions.g_shift.defined()) positions.g_shift.copy_(gradient_C * -terms.scale);
  }
  if (shift) positions.nll_N.copy_(clean_C);
  if (terms.z_loss != 0) {
    const at::Tensor lse_C = logit_C + clean_C, pull_C = lse_C * (2 * terms.z_loss);
    loss.add_(weighted_sum(terms.scale * terms.z_loss, lse_C.to(at::kDouble).square()));
    mass_C = mass_C + (shift ? pull_C * (-rise_C).exp() : pull_C);
    if (shift) at_target_C = at_target_C + pull_C * ((-own_C - rise_C).exp() - (-clean_C).exp());
  }
  if (terms.gradients) {
    at::Tensor grad = log_p_CV.exp_().mul_((mass_C * terms.scale).unsqueeze(1));
    if (off != 0) grad.sub_(terms.scale * off);
    grad.scatter_add_(1, index_C1, (at_target_C * -terms.scale).unsqueeze(1));
    logits_CV = grad.to(terms.product);
  }
  return loss;
}

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_softmax_loss(ap_tensor hidden, ap_tensor weight, ap_tensor bias, ap_tensor targets, ap_tensor shift, ap_loss_options options,
                                    ap_tensor *loss, ap_tensor *nll, ap_tensor *shifted) {
  return guard([&] {
    const LossKernels kernels{softmax_rows<float>, softmax_rows<double>, softmax_rows_generic};
    output_loss(kernels, {hidden, nullptr, weight, bias, targets, shift}, options, loss, nll, shifted);
  });
}
