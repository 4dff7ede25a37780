// Linear layer and softmax cross-entropy in one operator.
//
//   logits_CV = h_CD W_VD^T + b_V, a chunk of C rows at a time
//   nll_n     = lse_n - logits_n,y
//   loss_n    = on * nll_n + off * sum_j (lse_n - logits_n,j)
//
// where (on, off) say how label smoothing spreads the target's mass. The
// gradient of the summed, scaled loss is computed in the forward pass, while
// the chunk's logits are at hand; the backward pass only multiplies by the
// incoming scalar. So nothing of size N x V is ever kept.
//
// A shift lowers the target's logit in the loss: logits'_n,y = logits_n,y -
// shift_n, and primes mark what follows from it. The odds against the target
// grow by exp(shift), so that the clean nll is had back without a second pass:
//
//   nll_n   = log(1 + exp(-shift_n) (exp(nll'_n) - 1))
//
// The smoothed mass sees the shifted logits, loss'_n as above, or the clean ones:
//
//   loss'_n = (on + off) nll'_n + off * sum_{j != y} (lse_n - logits_n,j)
//           = on * nll'_n + off * sum_j (lse'_n - logits'_n,j) + off (V - 1) (lse_n - lse'_n)
//
// The shift gets a gradient like any operand. What it is a function of, and
// which of that is differentiated, is the caller's affair.
//
// Legend: N rows, C rows of a chunk, D width, V vocabulary.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <vector>

#include "api_softmax_loss.h"
#include "common.h"
#include "softmax_row.h"

namespace ap {
namespace {

// What belongs to each row: its shift, the clean and the shifted nll, and the gradient of the shift.
// Of a loss without shifts there is nll alone.
struct Rows {
  at::Tensor shift_N, nll_N, shifted_N, g_shift_N;
  Rows narrow(int64_t start, int64_t length) const {
    const auto part = [&](const at::Tensor &x_N) { return x_N.defined() ? x_N.narrow(0, start, length) : x_N; };
    return {part(shift_N), part(nll_N), part(shifted_N), part(g_shift_N)};
  }
};

// Turns a row of logits into its gradient (when wanted) and returns the row's loss. shift, and with it
// shifted and g_shift, may be null.
template <class T>
double softmax_row(T *row, int64_t V, int64_t target, const Terms &terms, const T *shift, T *nll, T *shifted, T *g_shift) {
  const double on = terms.on, off = terms.off, logit = row[target];
  if (shift) row[target] -= *shift;
  const double lowered = std::isfinite(logit) ? logit - row[target] : 0;  // the shift, as rounding has left it
  const double shifted_logit = row[target];
  const Sums sums = exponentials(row, V, terms.gradient);
  const double log_total = std::log(sums.total), own = sums.top - shifted_logit + log_total;
  double loss = weighted(on, own) + weighted(off, V * log_total - sums.plain);
  double mass = on + off * V, at_target = on;  // the gradient is mass * p'_j - off, and at_target less at the target
  *nll = static_cast<T>(own);
  if (shift) {
    const double clean = without_shift(own, lowered);
    *nll = static_cast<T>(clean);
    *shifted = static_cast<T>(own);
    double gradient = mass * std::exp(-own) - off - on;  // of the shifted logit
    if (off != 0 && !terms.smooth_shifted) {
      const double others = off * (V - 1), rise = clean - own + lowered;  // lse - lse'
      loss += others * rise;
      mass += others * std::expm1(-rise);
      at_target += others * (std::exp(-own - rise) - std::exp(-clean));
      gradient = (on + off) * std::expm1(-own);
    }
    if (g_shift) *g_shift = static_cast<T>(-terms.scale * gradient);
  }
  if (terms.gradient) {
    scale_and_lower(row, V, static_cast<T>(terms.scale * mass / sums.total), static_cast<T>(terms.scale * off));
    row[target] -= static_cast<T>(terms.scale * at_target);
  }
  return loss;
}

template <class T>
double softmax_rows(at::Tensor &logits_CV, const int64_t *targets, const Terms &terms, const Rows &rows) {
  const int64_t C = logits_CV.size(0), V = logits_CV.size(1);
  const auto pointer = [](const at::Tensor &x_C) { return x_C.defined() ? x_C.mutable_data_ptr<T>() : nullptr; };
  T *data = logits_CV.mutable_data_ptr<T>();
  T *shift = pointer(rows.shift_N), *nll = pointer(rows.nll_N), *shifted = pointer(rows.shifted_N), *g_shift = pointer(rows.g_shift_N);
  std::vector<double> losses(C);
  at::parallel_for(0, C, 1, [&](int64_t begin, int64_t end) {
    const auto at = [](T *x, int64_t n) { return x ? x + n : nullptr; };
    for (int64_t n = begin; n < end; ++n)
      losses[n] = softmax_row<T>(data + n * V, V, targets[n], terms, at(shift, n), nll + n, at(shifted, n), at(g_shift, n));
  });
  double sum = 0;
  for (double loss : losses) sum += loss;  // in the order of the rows, whatever the threads did
  return sum;
}

// The rows of a chunk on another device or of another type, by libtorch's own operators.
double softmax_rows_generic(at::Tensor &logits_CV, const at::Tensor &targets_C, const Terms &terms, const Rows &rows) {
  const int64_t V = logits_CV.size(1);
  const double on = terms.on, off = terms.off;
  const at::ScalarType type = rows.nll_N.scalar_type();
  const at::Tensor index_C1 = targets_C.unsqueeze(1);
  const bool shift = rows.shift_N.defined();
  at::Tensor log_p_CV;
  if (shift)  // in the wider type, in which a small shift is not lost
    log_p_CV = logits_CV.to(type).scatter_add_(1, index_C1, rows.shift_N.unsqueeze(1).neg()).log_softmax(1);
  else
    log_p_CV = at::log_softmax(logits_CV, 1, type);
  const at::Tensor own_C = log_p_CV.gather(1, index_C1).squeeze(1).neg();
  double loss = weighted(on, own_C.sum(at::kDouble).item<double>());
  if (off != 0) loss -= off * log_p_CV.sum(at::kDouble).item<double>();
  at::Tensor mass_C = at::full_like(own_C, on + off * V), at_target_C = at::full_like(own_C, on);
  rows.nll_N.copy_(own_C);
  if (shift) {
    const at::Tensor odds_C = at::where(own_C < 30, own_C.expm1().log(), own_C) - rows.shift_N;
    const at::Tensor clean_C = at::logaddexp(odds_C, at::zeros_like(odds_C));
    rows.nll_N.copy_(clean_C);
    rows.shifted_N.copy_(own_C);
    at::Tensor gradient_C = (-own_C).exp() * (on + off * V) - (on + off);
    if (off != 0 && !terms.smooth_shifted) {
      const double others = off * (V - 1);
      const at::Tensor rise_C = clean_C - own_C + rows.shift_N;
      loss += others * rise_C.sum(at::kDouble).item<double>();
      mass_C = mass_C + (-rise_C).expm1() * others;
      at_target_C = at_target_C + ((-own_C - rise_C).exp() - (-clean_C).exp()) * others;
      gradient_C = (-own_C).expm1() * (on + off);
    }
    if (rows.g_shift_N.defined()) rows.g_shift_N.copy_(gradient_C * -terms.scale);
  }
  if (terms.gradient) {
    at::Tensor grad = log_p_CV.exp_().mul_((mass_C * terms.scale).unsqueeze(1)).sub_(terms.scale * off);
    grad.scatter_add_(1, index_C1, (at_target_C * -terms.scale).unsqueeze(1));
    logits_CV = grad.to(logits_CV.scalar_type());
  }
  return loss;
}

// Whose gradients are computed, in the type of their tensor.
struct Needs {
  bool hidden, weight, bias, shift;
};

struct SoftmaxLoss : torch::autograd::Function<SoftmaxLoss> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext *ctx, const at::Tensor &hidden, const at::Tensor &weight,
                                                const std::optional<at::Tensor> &bias, const std::optional<at::Tensor> &shift,
                                                const at::Tensor &targets, Terms terms, int64_t chunk, at::ScalarType type, Needs needs) {
    // The type of the products was chosen before; autocasting must not choose again for each.
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor h_ND = hidden.to(type).contiguous(), w_VD = weight.to(type).contiguous();
    const at::Tensor b_V = bias ? bias->to(type).contiguous() : at::Tensor();
    const int64_t N = h_ND.size(0);
    const bool fast = h_ND.is_cpu() && (type == at::kFloat || type == at::kDouble);
    terms.gradient = needs.hidden || needs.weight || needs.bias;
    const auto sums = h_ND.options().dtype(type == at::kDouble ? at::kDouble : at::kFloat);  // at least float32
    Rows rows{{}, at::empty({N}, sums), {}, {}};
    if (shift) {
      rows.shift_N = shift->to(sums.dtype()).contiguous();
      rows.shifted_N = at::empty({N}, sums);
    }
    if (needs.shift) rows.g_shift_N = at::empty({N}, sums);
    at::Tensor gh_ND, gw_VD, gb_V;
    if (needs.hidden) gh_ND = at::empty_like(h_ND);
    if (needs.weight) gw_VD = at::zeros(w_VD.sizes(), sums);
    if (needs.bias) gb_V = at::zeros(b_V.sizes(), sums);
    double loss = 0;
    for (int64_t start = 0; start < N; start += chunk) {
      const int64_t C = std::min(chunk, N - start);
      const at::Tensor h_CD = h_ND.narrow(0, start, C);
      at::Tensor logits_CV = b_V.defined() ? at::addmm(b_V, h_CD, w_VD.t()) : at::mm(h_CD, w_VD.t());
      const at::Tensor targets_C = targets.narrow(0, start, C);
      const Rows part = rows.narrow(start, C);
      if (!fast)
        loss += softmax_rows_generic(logits_CV, targets_C, terms, part);
      else if (type == at::kFloat)
        loss += softmax_rows<float>(logits_CV, targets_C.const_data_ptr<int64_t>(), terms, part);
      else
        loss += softmax_rows<double>(logits_CV, targets_C.const_data_ptr<int64_t>(), terms, part);
      if (needs.hidden) {
        at::Tensor gh_CD = gh_ND.narrow(0, start, C);
        at::mm_out(gh_CD, logits_CV, w_VD);
      }
      if (needs.weight) {
        if (sums.dtype() == logits_CV.dtype())
          gw_VD.addmm_(logits_CV.t(), h_CD);
        else
          gw_VD.add_(at::mm(logits_CV.t(), h_CD));
      }
      if (needs.bias) gb_V.add_(at::sum(logits_CV, {0}, false, gb_V.scalar_type()));
    }
    if (needs.hidden) ctx->saved_data["hidden"] = gh_ND.to(hidden.scalar_type());
    if (needs.weight) ctx->saved_data["weight"] = gw_VD.to(weight.scalar_type());
    if (needs.bias) ctx->saved_data["bias"] = gb_V.to(bias->scalar_type());
    if (needs.shift) ctx->saved_data["shift"] = rows.g_shift_N.to(shift->scalar_type());
    // Converted as a tensor, a sum that the type does not hold is infinite; as a number it would be refused.
    const at::Tensor scaled = at::full({}, loss * terms.scale, sums.dtype(at::kDouble)).to(type == at::kDouble ? at::kDouble : at::kFloat);
    torch::autograd::variable_list results = {scaled, rows.nll_N};
    if (shift) results.push_back(rows.shifted_N);
    ctx->mark_non_differentiable({results.begin() + 1, results.end()});
    return results;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *ctx, torch::autograd::variable_list grads) {
    auto &saved = ctx->saved_data;
    TORCH_CHECK(!saved.empty(), "SoftmaxLoss: this loss was made without gradients, or was already used");
    const double factor = grads[0].item<double>();
    const auto take = [&](const char *name) {
      if (!saved.count(name)) return at::Tensor();
      at::Tensor gradient = saved[name].toTensor();
      return factor == 1 ? gradient : gradient.mul_(factor);
    };
    torch::autograd::variable_list gradients = {take("hidden"), take("weight"), take("bias"), take("shift"), {}, {}, {}, {}, {}};
    saved.clear();  // so that they are handed over, not copied
    return gradients;
  }
};

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_softmax_loss(ap_tensor hidden, ap_tensor weight, ap_tensor bias, ap_tensor targets, ap_tensor shift, int64_t ignore,
                                    int smoothing, double epsilon, bool smooth_shifted, double scale, int64_t chunk, bool gradients, ap_tensor *loss,
                                    ap_tensor *nll, ap_tensor *shifted) {
  return guard([&] {
    const at::Tensor &h = get(hidden), &w = get(weight), &y = get(targets);
    TORCH_CHECK(h.dim() == 2 && w.dim() == 2 && h.size(1) == w.size(1), "hidden states of shape ", h.sizes(), " do not fit a weight of shape ",
                w.sizes());
    TORCH_CHECK(y.dim() == 1 && y.size(0) == h.size(0), "hidden states of shape ", h.sizes(), " do not fit targets of shape ", y.sizes());
    const int64_t V = w.size(0), N = h.size(0);
    TORCH_CHECK(!bias || (get(bias).dim() == 1 && get(bias).size(0) == V), "a vocabulary of ", V, " does not fit a bias of shape ",
                bias ? get(bias).sizes() : at::IntArrayRef());
    TORCH_CHECK(!shift || (get(shift).dim() == 1 && get(shift).size(0) == N), "hidden states of shape ", h.sizes(), " do not fit shifts of shape ",
                shift ? get(shift).sizes() : at::IntArrayRef());
    TORCH_CHECK(y.scalar_type() == at::kLong, "targets must be int64, not ", y.scalar_type());
    const auto device = h.device().type();
    const bool autocast = at::autocast::is_autocast_enabled(device);
    const at::ScalarType type = autocast ? at::autocast::get_autocast_dtype(device) : h.scalar_type();
    TORCH_CHECK(autocast || (w.scalar_type() == type && (!bias || get(bias).scalar_type() == type)), "hidden states of type ", type,
                " do not fit a weight of type ", w.scalar_type());
    double on, off, constant;
    coefficients(smoothing, epsilon, static_cast<double>(V), &on, &off, &constant);
    // Ignored rows are left out before the product, not masked after it.
    const at::Tensor rows = at::nonzero(y.ne(ignore)).squeeze(1);
    const int64_t kept = rows.size(0);
    const bool all = kept == N;
    const at::Tensor h_kept = all ? h : h.index_select(0, rows), y_kept = all ? y.contiguous() : y.index_select(0, rows);
    if (kept > 0) {
      const auto range = y_kept.aminmax();
      const int64_t low = std::get<0>(range).item<int64_t>(), high = std::get<1>(range).item<int64_t>();
      TORCH_CHECK(low >= 0 && high < V, "a target of ", low < 0 ? low : high, " is outside the vocabulary of ", V);
    }
    if (chunk <= 0) chunk = chunk_rows(kept, V * static_cast<int64_t>(c10::elementSize(type)));
    std::optional<at::Tensor> b, s;
    if (bias) b = get(bias);
    if (shift) s = all ? get(shift) : get(shift).index_select(0, rows);
    const auto needs = [&](const at::Tensor &x) { return gradients && at::GradMode::is_enabled() && x.requires_grad(); };
    auto results = SoftmaxLoss::apply(h_kept, w, b, s, y_kept, Terms{on, off, scale, false, smooth_shifted}, chunk, type,
                                      Needs{needs(h), needs(w), b && needs(*b), s && needs(*s)});
    const auto by_row = [&](const at::Tensor &x) {
      const at::Tensor values = x.detach();
      return all ? values : at::zeros({N}, values.options()).index_copy(0, rows, values);
    };
    const at::Tensor sum = constant == 0 ? results[0] : results[0] + constant * scale * static_cast<double>(kept);
    const at::Tensor clean = by_row(results[1]);
    if (shift) *shifted = wrap(by_row(results[2]));
    *loss = wrap(sum);
    *nll = wrap(clean);
  });
}
