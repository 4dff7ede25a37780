// The cross-entropy of a mixture of softmaxes (Yang et al. 2018, "Breaking the
// softmax bottleneck"), in the way of output_loss.h.
//
//   z_nkj  = u_nk . w_j + b_j                    logits of component k at position n
//   P_nj   = sum_k pi_nk exp(z_nkj - lse_nk)     pi = softmax of the prior's scores
//   nll_n  = -log P_ny = -lse_k(log pi_nk + z_nky - lse_nk)
//   loss_n = (on + off) nll_n - off * sum_{j != y} log P_nj
//
// where (on, off) say how label smoothing spreads the target's mass. With the
// responsibilities, one for the target and one for every other word,
//
//   r_nk  = pi_nk p_nky / P_ny,  q_nkj = pi_nk p_nkj / P_nj,  Q_nk = off * sum_{j != y} q_nkj
//
// the gradients are
//
//   dz_nkj = p_nkj ((on + off) r_nk + Q_nk) - off q_nkj     and at the target -(on + off) r_nk for the last term
//   da_nk  = pi_nk (on + off V) - (on + off) r_nk - Q_nk    of the prior's scores
//
// Logarithms are taken of sums of exponentials whose largest is 1, so P may be as
// small as it likes.
//
// A shift lowers the target's logit of each component: z'_nky = z_nky - shift_nk,
// and primes mark what follows. nll'_n takes the place of nll_n in the loss, and
// r'_nk that of r_nk; the smoothed mass sees the clean P_nj, so that q_nkj and Q_nk
// stay:
//
//   dz_nkj = p'_nkj (on + off) r'_nk + p_nkj Q_nk - off q_nkj     and at the target -(on + off) r'_nk for the last term
//
// The shift gets a gradient like any operand, (on + off) r'_nk (1 - p'_nky).
//
// The z-loss adds zeta / K sum_k lse_nk^2, of clean logits whatever the shift; its
// gradient in them is 2 zeta / K lse_nk p_nkj, and the prior gets none.
//
// Legend: C positions of a chunk, K components, V vocabulary.
#include <ATen/Functions.h>

#include <cmath>
#include <vector>

#include "api_mixture_loss.h"
#include "border/common.h"
#include "mixture_row.h"
#include "output_loss.h"
#include "softmax_row.h"

namespace ap {
namespace {

// What a thread works with at one position.
template <class T>
struct Scratch {
  std::vector<double> log_pi, own, clean, total, joint;  // by component; own and clean are -log p'_ky and -log p_ky
  std::vector<double> pull, pull_target;                 // gradient of the z-loss over p'_kj, and at the target; or 0
  std::vector<T> mix;                                    // log P_j
  std::vector<Component<T>> components;
  Scratch(int64_t K, int64_t V, bool smoothing)
      : log_pi(K), own(K), clean(K), total(K), joint(K), pull(K), pull_target(K), mix(smoothing ? V : 0), components(smoothing ? K : 0) {}

  // -log sum_k pi_k exp(-cost_k)
  double mixture(const std::vector<double> &cost) {
    for (size_t k = 0; k < joint.size(); ++k) joint[k] = log_pi[k] - cost[k];
    return -log_sum_exp(joint);
  }
};

// sum_j log P_j over [begin, end), which s.mix receives, as the components receive their responsibilities.
template <class T>
double mixed(Scratch<T> &s, int64_t K, int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t start = begin; start < end; start += kTile) {
    const int64_t stop = std::min(start + kTile, end);
    sum += log_mixture(s.components.data(), K, start, stop, s.mix.data());
    add_responsibilities(s.components.data(), K, start, stop, s.mix.data());
  }
  return sum;
}

// One position's operands and results; shift, with it shifted, and the gradients may be null.
template <class T>
struct Position {
  T *rows_KV;
  const T *prior_K, *shift_K;
  T *nll, *shifted, *g_prior_K, *g_shift_K;
};

// Turns a position's rows of logits into their gradients (when wanted) and returns its loss.
template <class T>
double mixture_position(const Position<T> &p, int64_t K, int64_t V, int64_t target, const Terms &terms, Scratch<T> &s) {
  const double off = terms.off, weight = terms.on + off;
  for (int64_t k = 0; k < K; ++k) s.log_pi[k] = p.prior_K[k];
  const double norm = log_sum_exp(s.log_pi);
  double penalty = 0;
  for (int64_t k = 0; k < K; ++k) {
    s.log_pi[k] -= norm;
    T *row = p.rows_KV + k * V;
    const double logit = row[target];
    if (p.shift_K) row[target] -= p.shift_K[k];
    const double shifted_logit = row[target], shift = std::isfinite(logit) ? logit - shifted_logit : 0;  // as rounding has left it
    const Sums sums = exponentials(row, V, terms.gradients && off == 0);
    const double log_total = std::log(sums.total);
    s.own[k] = sums.top - shifted_logit + log_total;
    s.clean[k] = without_shift(s.own[k], shift);
    s.total[k] = sums.total;
    if (terms.z_loss != 0) {
      const double rise = shift != 0 ? s.clean[k] - s.own[k] + shift : 0, lse = sums.top + log_total + rise;
      penalty += terms.z_loss / K * lse * lse;
      s.pull[k] = 2 * terms.z_loss / K * lse * std::exp(-rise);
      s.pull_target[k] = 2 * terms.z_loss / K * lse * std::exp(-s.clean[k]);
    }
    if (off != 0) {
      const double lse = s.own[k] + shifted_logit, seen = s.clean[k] + logit;
      s.components[k] = {row, static_cast<T>(s.log_pi[k] - seen), static_cast<T>(lse), 0, std::exp(lse - seen), 0};
    }
  }
  const double own = s.mixture(s.own);
  *p.nll = static_cast<T>(own);
  if (p.shift_K) {
    *p.nll = static_cast<T>(s.mixture(s.clean));
    *p.shifted = static_cast<T>(own);
  }
  double loss = weighted(weight, own) + penalty;
  if (off != 0) loss -= off * (mixed(s, K, 0, target) + mixed(s, K, target + 1, V));
  if (!terms.gradients) return loss;
  for (int64_t k = 0; k < K; ++k) {
    T *row = p.rows_KV + k * V;
    const double r = weight * std::exp(s.log_pi[k] - s.own[k] + own), p_target = std::exp(-s.own[k]);
    double others = 0;
    if (off == 0) {
      scale_and_lower(row, V, static_cast<T>(terms.scale * (r + s.pull[k]) / s.total[k]), 0);
      row[target] -= static_cast<T>(terms.scale * (r + s.pull[k] * p_target - s.pull_target[k]));
    } else {
      Component<T> &c = s.components[k];
      others = off * c.others;
      c.factor = static_cast<T>(terms.scale * (r + others * c.shrunk + s.pull[k]));
      differentiate(c, 0, target, static_cast<T>(terms.scale * off), s.mix.data());
      differentiate(c, target + 1, V, static_cast<T>(terms.scale * off), s.mix.data());
      const double p_seen = std::exp(-s.clean[k]);
      row[target] = static_cast<T>(terms.scale * (r * std::expm1(-s.own[k]) + others * p_seen + s.pull_target[k]));
    }
    if (p.g_prior_K) p.g_prior_K[k] = static_cast<T>(terms.scale * (std::exp(s.log_pi[k]) * (terms.on + off * V) - r - others));
    if (p.g_shift_K) p.g_shift_K[k] = static_cast<T>(-terms.scale * (r * std::expm1(-s.own[k])));
  }
  return loss;
}

// V = 1: no other word has mass, and the target has all of it.
Terms for_vocabulary(Terms terms, int64_t V) {
  if (V == 1) {
    terms.on += terms.off;
    terms.off = 0;
  }
  return terms;
}

template <class T>
double mixture_positions(at::Tensor &logits_RV, const at::Tensor &targets_C, const Terms &given, const Positions &positions) {
  const int64_t K = positions.prior_NK.size(1), V = logits_RV.size(1), *targets = targets_C.const_data_ptr<int64_t>();
  const Terms terms = for_vocabulary(given, V);
  const Position<T> all{nullptr,
                        elements<T>(positions.prior_NK),
                        elements<T>(positions.shift),
                        elements<T>(positions.nll_N),
                        elements<T>(positions.shifted_N),
                        elements<T>(positions.g_prior_NK),
                        elements<T>(positions.g_shift)};
  return sum_positions(targets_C.size(0), [&](int64_t begin, int64_t end, double *losses) {
    Scratch<T> scratch(K, V, terms.off != 0);
    LogitRows<T> rows(logits_RV);
    const auto at = [](auto *x, int64_t n) { return x ? x + n : nullptr; };
    for (int64_t n = begin; n < end; ++n) {
      const Position<T> p{rows.take(n * K, K), all.prior_K + n * K, at(all.shift_K, n * K), all.nll + n,
                          at(all.shifted, n), at(all.g_prior_K, n * K), at(all.g_shift_K, n * K)};
      losses[n] = mixture_position(p, K, V, targets[n], terms, scratch);
      if (terms.gradients) rows.keep(n * K, K);
    }
  });
}

// without_shift for tensors.
at::Tensor tensor_without_shift(const at::Tensor &nll, const at::Tensor &shift) {
  const at::Tensor odds = at::where(nll < 30, nll.expm1().log(), nll) - shift;  // their logarithm
  return at::where(shift == 0, nll, at::logaddexp(odds, at::zeros_like(odds)));
}

// The positions of a chunk on another device or of another type, by libtorch's own operators.
at::Tensor mixture_positions_generic(at::Tensor &logits_RV, const at::Tensor &targets_C, const Terms &given, const Positions &positions) {
  const int64_t C = targets_C.size(0), K = positions.prior_NK.size(1), V = logits_RV.size(1);
  const Terms terms = for_vocabulary(given, V);
  const at::Tensor logits_CKV = logits_RV.view({C, K, V});
  const double off = terms.off, weight = terms.on + off;
  const at::ScalarType type = positions.nll_N.scalar_type();
  const bool shift = positions.shift.defined();
  const at::Tensor index_CK1 = targets_C.reshape({C, 1, 1}).expand({C, K, 1});
  at::Tensor log_p_CKV =
      at::log_softmax(shift ? logits_CKV.to(type).scatter_add(2, index_CK1, positions.shift.unsqueeze(2).neg()) : logits_CKV, 2, type);
  const at::Tensor log_pi_CK = at::log_softmax(positions.prior_NK, 1);
  const at::Tensor own_CK = log_p_CKV.gather(2, index_CK1).squeeze(2).neg();
  const at::Tensor own_C = at::logsumexp(log_pi_CK - own_CK, 1).neg();
  at::Tensor clean_CK = own_CK, rise_CK = at::zeros_like(own_CK);  // lse - lse' for the lse that the smoothed mass sees
  positions.nll_N.copy_(own_C);
  if (shift) {
    clean_CK = tensor_without_shift(own_CK, positions.shift);
    positions.nll_N.copy_(at::logsumexp(log_pi_CK - clean_CK, 1).neg());
    positions.shifted_N.copy_(own_C);
    rise_CK = clean_CK - own_CK + positions.shift;
  }
  at::Tensor loss = weighted_sum(weight, own_C);
  const at::Tensor r_CK = (log_pi_CK - own_CK + own_C.unsqueeze(1)).exp_().mul_(weight);
  at::Tensor others_CK = at::zeros_like(own_CK), q_CKV;
  if (off != 0) {
    q_CKV = log_p_CKV + (log_pi_CK - rise_CK).unsqueeze(2);
    const at::Tensor log_P_C1V = at::logsumexp(q_CKV, 1, true), index_C11 = index_CK1.narrow(1, 0, 1);
    loss.sub_(weighted_sum(off, log_P_C1V.scatter(2, index_C11, 0)));
    q_CKV.sub_(log_P_C1V).exp_().mul_(off).scatter_(2, index_CK1, 0);
    others_CK = q_CKV.sum(2);
  }
  at::Tensor mass_CK = r_CK + others_CK * (-rise_CK).exp(), pull_CK;
  if (terms.z_loss != 0) {
    const at::Tensor lse_CK = logits_CKV.gather(2, index_CK1).squeeze(2).to(type) + clean_CK;
    loss.add_(weighted_sum(terms.z_loss / static_cast<double>(K), lse_CK.to(at::kDouble).square()));
    pull_CK = lse_CK * (2 * terms.z_loss / K);
    mass_CK = mass_CK + (shift ? pull_CK * (own_CK - clean_CK - positions.shift).exp() : pull_CK);
  }
  if (terms.gradients) {
    at::Tensor grad = log_p_CKV.exp_().mul_(mass_CK.unsqueeze(2));
    if (off != 0) grad.sub_(q_CKV);
    const at::Tensor p_seen_CK = (-clean_CK).exp();
    at::Tensor at_target_CK = r_CK * (-own_CK).expm1() + others_CK * p_seen_CK;
    if (pull_CK.defined()) at_target_CK = at_target_CK + pull_CK * (-clean_CK).exp();
    grad.scatter_(2, index_CK1, at_target_CK.unsqueeze(2));
    logits_RV = grad.mul_(terms.scale).to(terms.product).view({C * K, V});
  }
  if (positions.g_prior_NK.defined())
    positions.g_prior_NK.copy_((log_pi_CK.exp() * (terms.on + off * V) - r_CK - others_CK) * terms.scale);
  if (positions.g_shift.defined()) {
    positions.g_shift.copy_(r_CK * (-own_CK).expm1() * -terms.scale);
  }
  return loss.mul_(terms.scale);
}

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_mixture_loss(ap_tensor latent, ap_tensor prior, ap_tensor weight, ap_tensor bias, ap_tensor targets, ap_tensor shift,
                                    ap_loss_options options, ap_tensor *loss, ap_tensor *nll, ap_tensor *shifted) {
  return guard([&] {
    const LossKernels kernels{mixture_positions<float>, mixture_positions<double>, mixture_positions_generic};
    output_loss(kernels, {latent, prior, weight, bias, targets, shift}, options, loss, nll, shifted);
  });
}
