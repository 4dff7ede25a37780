// Cross-entropy of a mixture of softmaxes in one operator (Yang et al. 2018,
// "Breaking the softmax bottleneck").
//
//   z_nkj  = u_nk . w_j + b_j                    logits of component k at position n
//   P_nj   = sum_k pi_nk exp(z_nkj - lse_nk)     pi = softmax of the prior's scores
//   nll_n  = -log P_ny = -lse_k(log pi_nk + z_nky - lse_nk)
//   loss_n = (on + off) nll_n - off * sum_{j != y} log P_nj
//
// where (on, off) say how label smoothing spreads the target's mass. Positions
// are taken a chunk at a time and the gradient of the summed, scaled loss is
// computed while the chunk's logits are at hand, so that nothing of size
// N x K x V is ever kept. With the responsibilities, one for the target and one
// for every other word,
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
// and primes mark what follows. nll'_n takes the place of nll_n in the loss; the
// smoothed mass sees the clean P_nj or the shifted one. The shift gets a gradient
// like any operand.
//
// Legend: N positions, C positions of a chunk, K components, D width, V
// vocabulary.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <vector>

#include "api_mixture_loss.h"
#include "common.h"
#include "mixture_row.h"
#include "softmax_row.h"

namespace ap {
namespace {

// What belongs to each position and component.
struct Positions {
  at::Tensor prior_NK, shift_NK;               // scores of the prior; shifts or undefined
  at::Tensor nll_N, shifted_N;                 // the clean loss and the shifted one
  at::Tensor g_prior_NK, g_shift_NK;           // gradients, or undefined
  Positions narrow(int64_t start, int64_t length) const {
    const auto part = [&](const at::Tensor &x) { return x.defined() ? x.narrow(0, start, length) : x; };
    return {part(prior_NK), part(shift_NK), part(nll_N), part(shifted_N), part(g_prior_NK), part(g_shift_NK)};
  }
};

// What a thread works with at one position.
template <class T>
struct Scratch {
  std::vector<double> log_pi, own, clean, total, joint;  // by component; own and clean are -log p'_ky and -log p_ky
  std::vector<T> mix;                                    // log P_j
  std::vector<Component<T>> components;
  Scratch(int64_t K, int64_t V, bool smoothing)
      : log_pi(K), own(K), clean(K), total(K), joint(K), mix(smoothing ? V : 0), components(smoothing ? K : 0) {}

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
  for (int64_t k = 0; k < K; ++k) {
    s.log_pi[k] -= norm;
    T *row = p.rows_KV + k * V;
    const double logit = row[target];
    if (p.shift_K) row[target] -= p.shift_K[k];
    const double shifted_logit = row[target], shift = std::isfinite(logit) ? logit - shifted_logit : 0;  // as rounding has left it
    const Sums sums = exponentials(row, V, terms.gradient && off == 0);
    s.own[k] = sums.top - shifted_logit + std::log(sums.total);
    s.clean[k] = without_shift(s.own[k], shift);
    s.total[k] = sums.total;
    if (off != 0) {
      const double lse = s.own[k] + shifted_logit, seen = terms.smooth_shifted ? lse : s.clean[k] + logit;
      s.components[k] = {row, static_cast<T>(s.log_pi[k] - seen), static_cast<T>(lse), 0, std::exp(lse - seen), 0};
    }
  }
  const double own = s.mixture(s.own);
  *p.nll = static_cast<T>(own);
  if (p.shift_K) {
    *p.nll = static_cast<T>(s.mixture(s.clean));
    *p.shifted = static_cast<T>(own);
  }
  double loss = weighted(weight, own);
  if (off != 0) loss -= off * (mixed(s, K, 0, target) + mixed(s, K, target + 1, V));
  if (!terms.gradient) return loss;
  for (int64_t k = 0; k < K; ++k) {
    T *row = p.rows_KV + k * V;
    const double r = weight * std::exp(s.log_pi[k] - s.own[k] + own), p_target = std::exp(-s.own[k]);
    double others = 0;
    if (off == 0) {
      scale_and_lower(row, V, static_cast<T>(terms.scale * r / s.total[k]), 0);
      row[target] -= static_cast<T>(terms.scale * r);
    } else {
      Component<T> &c = s.components[k];
      others = off * c.others;
      c.factor = static_cast<T>(terms.scale * (r + others * c.shrunk));
      differentiate(c, 0, target, static_cast<T>(terms.scale * off), s.mix.data());
      differentiate(c, target + 1, V, static_cast<T>(terms.scale * off), s.mix.data());
      const double p_seen = terms.smooth_shifted ? p_target : std::exp(-s.clean[k]);
      row[target] = static_cast<T>(terms.scale * (r * std::expm1(-s.own[k]) + others * p_seen));
    }
    if (p.g_prior_K) p.g_prior_K[k] = static_cast<T>(terms.scale * (std::exp(s.log_pi[k]) * (terms.on + off * V) - r - others));
    if (p.g_shift_K) {
      const double seen = terms.smooth_shifted ? others * p_target : 0;
      p.g_shift_K[k] = static_cast<T>(-terms.scale * (r * std::expm1(-s.own[k]) + seen));
    }
  }
  return loss;
}

template <class T>
double mixture_positions(at::Tensor &logits_CKV, const int64_t *targets, const Terms &terms, const Positions &positions) {
  const int64_t C = logits_CKV.size(0), K = logits_CKV.size(1), V = logits_CKV.size(2);
  const auto pointer = [](const at::Tensor &x) { return x.defined() ? x.mutable_data_ptr<T>() : nullptr; };
  const Position<T> all{logits_CKV.mutable_data_ptr<T>(), pointer(positions.prior_NK), pointer(positions.shift_NK), pointer(positions.nll_N),
                        pointer(positions.shifted_N), pointer(positions.g_prior_NK), pointer(positions.g_shift_NK)};
  std::vector<double> losses(C);
  at::parallel_for(0, C, 1, [&](int64_t begin, int64_t end) {
    Scratch<T> scratch(K, V, terms.off != 0);
    const auto at = [](auto *x, int64_t n) { return x ? x + n : nullptr; };
    for (int64_t n = begin; n < end; ++n) {
      const Position<T> p{all.rows_KV + n * K * V, all.prior_K + n * K, at(all.shift_K, n * K), all.nll + n,
                          at(all.shifted, n), at(all.g_prior_K, n * K), at(all.g_shift_K, n * K)};
      losses[n] = mixture_position(p, K, V, targets[n], terms, scratch);
    }
  });
  double sum = 0;
  for (double loss : losses) sum += loss;  // in the order of the positions, whatever the threads did
  return sum;
}

// without_shift for tensors.
at::Tensor without_shift(const at::Tensor &nll, const at::Tensor &shift) {
  const at::Tensor odds = at::where(nll < 30, nll.expm1().log(), nll) - shift;  // their logarithm
  return at::where(shift == 0, nll, at::logaddexp(odds, at::zeros_like(odds)));
}

// The positions of a chunk on another device or of another type, by libtorch's own operators.
double mixture_positions_generic(at::Tensor &logits_CKV, const at::Tensor &targets_C, const Terms &terms, const Positions &positions) {
  const int64_t C = logits_CKV.size(0), K = logits_CKV.size(1), V = logits_CKV.size(2);
  const double off = terms.off, weight = terms.on + off;
  const at::ScalarType type = positions.nll_N.scalar_type();
  const bool shift = positions.shift_NK.defined();
  const at::Tensor index_CK1 = targets_C.reshape({C, 1, 1}).expand({C, K, 1});
  at::Tensor log_p_CKV =
      at::log_softmax(shift ? logits_CKV.to(type).scatter_add(2, index_CK1, positions.shift_NK.unsqueeze(2).neg()) : logits_CKV, 2, type);
  const at::Tensor log_pi_CK = at::log_softmax(positions.prior_NK, 1);
  const at::Tensor own_CK = log_p_CKV.gather(2, index_CK1).squeeze(2).neg();
  const at::Tensor own_C = at::logsumexp(log_pi_CK - own_CK, 1).neg();
  at::Tensor clean_CK = own_CK, rise_CK = at::zeros_like(own_CK);  // lse - lse' for the lse that the smoothed mass sees
  positions.nll_N.copy_(own_C);
  if (shift) {
    clean_CK = without_shift(own_CK, positions.shift_NK);
    positions.nll_N.copy_(at::logsumexp(log_pi_CK - clean_CK, 1).neg());
    positions.shifted_N.copy_(own_C);
    if (!terms.smooth_shifted) rise_CK = clean_CK - own_CK + positions.shift_NK;
  }
  double loss = weighted(weight, own_C.sum(at::kDouble).item<double>());
  const at::Tensor r_CK = (log_pi_CK - own_CK + own_C.unsqueeze(1)).exp_().mul_(weight);
  at::Tensor others_CK = at::zeros_like(own_CK), q_CKV;
  if (off != 0) {
    q_CKV = log_p_CKV + (log_pi_CK - rise_CK).unsqueeze(2);
    const at::Tensor log_P_C1V = at::logsumexp(q_CKV, 1, true), index_C11 = index_CK1.narrow(1, 0, 1);
    loss -= off * log_P_C1V.scatter(2, index_C11, 0).sum(at::kDouble).item<double>();
    q_CKV.sub_(log_P_C1V).exp_().mul_(off).scatter_(2, index_CK1, 0);
    others_CK = q_CKV.sum(2);
  }
  const at::Tensor p_target_CK = (-own_CK).exp();
  if (terms.gradient) {
    at::Tensor grad = log_p_CKV.exp_().mul_((r_CK + others_CK * (-rise_CK).exp()).unsqueeze(2));
    if (off != 0) grad.sub_(q_CKV);
    const at::Tensor p_seen_CK = terms.smooth_shifted ? p_target_CK : (-clean_CK).exp();
    grad.scatter_(2, index_CK1, (r_CK * (-own_CK).expm1() + others_CK * p_seen_CK).unsqueeze(2));
    logits_CKV = grad.mul_(terms.scale).to(logits_CKV.scalar_type());
  }
  if (positions.g_prior_NK.defined())
    positions.g_prior_NK.copy_((log_pi_CK.exp() * (terms.on + off * V) - r_CK - others_CK) * terms.scale);
  if (positions.g_shift_NK.defined()) {
    at::Tensor g_CK = r_CK * (-own_CK).expm1();
    if (terms.smooth_shifted) g_CK = g_CK + others_CK * p_target_CK;
    positions.g_shift_NK.copy_(g_CK * -terms.scale);
  }
  return loss;
}

// Whose gradients are computed, in the type of their tensor.
struct Needs {
  bool latent, prior, weight, bias, shift;
};

struct MixtureLoss : torch::autograd::Function<MixtureLoss> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext *ctx, const at::Tensor &latent, const at::Tensor &prior,
                                                const at::Tensor &weight, const std::optional<at::Tensor> &bias,
                                                const std::optional<at::Tensor> &shift, const at::Tensor &targets, Terms terms, int64_t chunk,
                                                at::ScalarType type, Needs needs) {
    // The type of the products was chosen before; autocasting must not choose again for each.
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor u_NKD = latent.to(type).contiguous(), w_VD = weight.to(type).contiguous();
    const at::Tensor b_V = bias ? bias->to(type).contiguous() : at::Tensor();
    const int64_t N = u_NKD.size(0), K = u_NKD.size(1), D = u_NKD.size(2), V = w_VD.size(0);
    const bool fast = u_NKD.is_cpu() && (type == at::kFloat || type == at::kDouble);
    terms.gradient = needs.latent || needs.prior || needs.weight || needs.bias || needs.shift;
    const auto sums = u_NKD.options().dtype(type == at::kDouble ? at::kDouble : at::kFloat);  // at least float32
    Positions positions{prior.to(sums.dtype()).contiguous(), {}, at::empty({N}, sums), {}, {}, {}};
    if (shift) {
      positions.shift_NK = shift->to(sums.dtype()).contiguous();
      positions.shifted_N = at::empty({N}, sums);
    }
    if (needs.prior) positions.g_prior_NK = at::empty({N, K}, sums);
    if (needs.shift) positions.g_shift_NK = at::empty({N, K}, sums);
    at::Tensor gu_NKD, gw_VD, gb_V;
    if (needs.latent) gu_NKD = at::empty_like(u_NKD);
    if (needs.weight) gw_VD = at::zeros(w_VD.sizes(), sums);
    if (needs.bias) gb_V = at::zeros(b_V.sizes(), sums);
    double loss = 0;
    for (int64_t start = 0; start < N; start += chunk) {
      const int64_t C = std::min(chunk, N - start);
      const at::Tensor u_RD = u_NKD.narrow(0, start, C).view({C * K, D});  // the rows R of the products are C K
      at::Tensor logits_CKV = (b_V.defined() ? at::addmm(b_V, u_RD, w_VD.t()) : at::mm(u_RD, w_VD.t())).view({C, K, V});
      const at::Tensor targets_C = targets.narrow(0, start, C);
      const Positions part = positions.narrow(start, C);
      if (!fast)
        loss += mixture_positions_generic(logits_CKV, targets_C, terms, part);
      else if (type == at::kFloat)
        loss += mixture_positions<float>(logits_CKV, targets_C.const_data_ptr<int64_t>(), terms, part);
      else
        loss += mixture_positions<double>(logits_CKV, targets_C.const_data_ptr<int64_t>(), terms, part);
      const at::Tensor grad_RV = logits_CKV.view({C * K, V});
      if (needs.latent) {
        at::Tensor gu_RD = gu_NKD.narrow(0, start, C).view({C * K, D});
        at::mm_out(gu_RD, grad_RV, w_VD);
      }
      if (needs.weight) {
        if (sums.dtype() == grad_RV.dtype())
          gw_VD.addmm_(grad_RV.t(), u_RD);
        else
          gw_VD.add_(at::mm(grad_RV.t(), u_RD));
      }
      if (needs.bias) gb_V.add_(at::sum(grad_RV, {0}, false, gb_V.scalar_type()));
    }
    auto &saved = ctx->saved_data;
    if (needs.latent) saved["latent"] = gu_NKD.to(latent.scalar_type());
    if (needs.prior) saved["prior"] = positions.g_prior_NK.to(prior.scalar_type());
    if (needs.weight) saved["weight"] = gw_VD.to(weight.scalar_type());
    if (needs.bias) saved["bias"] = gb_V.to(bias->scalar_type());
    if (needs.shift) saved["shift"] = positions.g_shift_NK.to(shift->scalar_type());
    // Converted as a tensor, a sum that the type does not hold is infinite; as a number it would be refused.
    const at::Tensor scaled = at::full({}, loss * terms.scale, sums.dtype(at::kDouble)).to(type == at::kDouble ? at::kDouble : at::kFloat);
    torch::autograd::variable_list results = {scaled, positions.nll_N};
    if (shift) results.push_back(positions.shifted_N);
    ctx->mark_non_differentiable({results.begin() + 1, results.end()});
    return results;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *ctx, torch::autograd::variable_list grads) {
    auto &saved = ctx->saved_data;
    TORCH_CHECK(!saved.empty(), "MixtureLoss: this loss was made without gradients, or was already used");
    const double factor = grads[0].item<double>();
    const auto take = [&](const char *name) {
      if (!saved.count(name)) return at::Tensor();
      at::Tensor gradient = saved[name].toTensor();
      return factor == 1 ? gradient : gradient.mul_(factor);
    };
    torch::autograd::variable_list gradients = {take("latent"), take("prior"), take("weight"), take("bias"), take("shift"), {}, {}, {}, {}, {}};
    saved.clear();  // so that they are handed over, not copied
    return gradients;
  }
};

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_mixture_loss(ap_tensor latent, ap_tensor prior, ap_tensor weight, ap_tensor bias, ap_tensor targets, ap_tensor shift,
                                    int64_t ignore, int smoothing, double epsilon, bool smooth_shifted, double scale, int64_t chunk, bool gradients,
                                    ap_tensor *loss, ap_tensor *nll, ap_tensor *shifted) {
  return guard([&] {
    const at::Tensor &u = get(latent), &a = get(prior), &w = get(weight), &y = get(targets);
    TORCH_CHECK(u.dim() == 3 && u.size(1) > 0 && w.dim() == 2 && u.size(2) == w.size(1), "latent states of shape ", u.sizes(),
                " do not fit a weight of shape ", w.sizes());
    const int64_t N = u.size(0), K = u.size(1), V = w.size(0);
    const auto per_component = [&](const at::Tensor &x) { return x.dim() == 2 && x.size(0) == N && x.size(1) == K; };
    TORCH_CHECK(per_component(a), "latent states of shape ", u.sizes(), " do not fit a prior of shape ", a.sizes());
    TORCH_CHECK(y.dim() == 1 && y.size(0) == N, "latent states of shape ", u.sizes(), " do not fit targets of shape ", y.sizes());
    TORCH_CHECK(!bias || (get(bias).dim() == 1 && get(bias).size(0) == V), "a vocabulary of ", V, " does not fit a bias of shape ",
                bias ? get(bias).sizes() : at::IntArrayRef());
    TORCH_CHECK(!shift || per_component(get(shift)), "latent states of shape ", u.sizes(), " do not fit shifts of shape ",
                shift ? get(shift).sizes() : at::IntArrayRef());
    TORCH_CHECK(y.scalar_type() == at::kLong, "targets must be int64, not ", y.scalar_type());
    const auto device = u.device().type();
    const bool autocast = at::autocast::is_autocast_enabled(device);
    const at::ScalarType type = autocast ? at::autocast::get_autocast_dtype(device) : u.scalar_type();
    TORCH_CHECK(autocast || (w.scalar_type() == type && (!bias || get(bias).scalar_type() == type)), "latent states of type ", type,
                " do not fit a weight of type ", w.scalar_type());
    Terms terms{0, 0, scale, false, smooth_shifted};
    double constant;
    coefficients(smoothing, epsilon, static_cast<double>(V), &terms.on, &terms.off, &constant);
    if (V == 1) {  // no other word has mass, and the target has all of it
      terms.on += terms.off;
      terms.off = 0;
    }
    // Ignored positions are left out before the products, not masked after them.
    const at::Tensor rows = at::nonzero(y.ne(ignore)).squeeze(1);
    const int64_t kept = rows.size(0);
    const bool all = kept == N;
    const auto keep = [&](const at::Tensor &x) { return all ? x : x.index_select(0, rows); };
    const at::Tensor y_kept = keep(y).contiguous();
    if (kept > 0) {
      const auto range = y_kept.aminmax();
      const int64_t low = std::get<0>(range).item<int64_t>(), high = std::get<1>(range).item<int64_t>();
      TORCH_CHECK(low >= 0 && high < V, "a target of ", low < 0 ? low : high, " is outside the vocabulary of ", V);
    }
    if (chunk <= 0) chunk = chunk_rows(kept * K, V * static_cast<int64_t>(c10::elementSize(type)));
    std::optional<at::Tensor> b, s;
    if (bias) b = get(bias);
    if (shift) s = keep(get(shift));
    const auto needs = [&](const at::Tensor &x) { return gradients && at::GradMode::is_enabled() && x.requires_grad(); };
    auto results = MixtureLoss::apply(keep(u), keep(a), w, b, s, y_kept, terms, std::max<int64_t>(1, chunk / K), type,
                                      Needs{needs(u), needs(a), needs(w), b && needs(*b), s && needs(*s)});
    const auto by_position = [&](const at::Tensor &x) {
      const at::Tensor values = x.detach();
      return all ? values : at::zeros({N}, values.options()).index_copy(0, rows, values);
    };
    *loss = wrap(constant == 0 ? results[0] : results[0] + constant * scale * static_cast<double>(kept));
    *nll = wrap(by_position(results[1]));
    if (shift) *shifted = wrap(by_position(results[2]));
  });
}
