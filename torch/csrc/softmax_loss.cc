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
// Legend: N rows, C rows of a chunk, D width, V vocabulary.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <limits>

#include "api_softmax_loss.h"
#include "common.h"
#include "random.h"
#include "vector_exp.h"

namespace ap {
namespace {

// A weighted term that counts nothing is left out: 0 times infinity is no number.
inline double weighted(double weight, double x) { return weight == 0 ? 0 : weight * x; }

// Turns a row of logits into its gradient (when wanted) and returns the row's loss; nll receives the clean one.
AP_CLONES double softmax_row(float *row, int64_t V, int64_t target, float on, float off, float scale, bool gradient, float *nll) {
  float top = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : top)
  for (int64_t j = 0; j < V; ++j) top = row[j] > top ? row[j] : top;
  const float target_logit = row[target];
  float total = 0, plain = 0;
  if (gradient) {
#pragma omp simd reduction(+ : total, plain)
    for (int64_t j = 0; j < V; ++j) {
      plain += row[j] - top;
      row[j] = exp_nonpositive(row[j] - top);
      total += row[j];
    }
  } else {
#pragma omp simd reduction(+ : total, plain)
    for (int64_t j = 0; j < V; ++j) {
      plain += row[j] - top;
      total += exp_nonpositive(row[j] - top);
    }
  }
  const double log_total = std::log(static_cast<double>(total));
  *nll = static_cast<float>(top - target_logit + log_total);
  const double loss = weighted(on, *nll) + weighted(off, V * log_total - plain);
  if (gradient) {
    const float factor = scale * (on + off * V) / total, shift = scale * off;
#pragma omp simd
    for (int64_t j = 0; j < V; ++j) row[j] = row[j] * factor - shift;
    row[target] -= scale * on;
  }
  return loss;
}

// The same for float64, as plain as it can be.
double softmax_row(double *row, int64_t V, int64_t target, double on, double off, double scale, bool gradient, double *nll) {
  double top = row[0], total = 0, plain = 0;
  for (int64_t j = 0; j < V; ++j) top = std::max(top, row[j]);
  for (int64_t j = 0; j < V; ++j) {
    total += std::exp(row[j] - top);
    plain += row[j] - top;
  }
  const double lse = std::log(total);
  *nll = top - row[target] + lse;
  const double loss = weighted(on, *nll) + weighted(off, V * lse - plain);
  if (gradient) {
    for (int64_t j = 0; j < V; ++j) row[j] = scale * ((on + off * V) * std::exp(row[j] - top) / total - off);
    row[target] -= scale * on;
  }
  return loss;
}

template <class T>
double softmax_rows(at::Tensor &logits_CV, const int64_t *targets, double on, double off, double scale, bool gradient, at::Tensor nll_C) {
  const int64_t C = logits_CV.size(0), V = logits_CV.size(1);
  T *data = logits_CV.mutable_data_ptr<T>();
  T *nll = nll_C.mutable_data_ptr<T>();
  std::vector<double> losses(C);
  at::parallel_for(0, C, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      losses[n] = softmax_row(data + n * V, V, targets[n], static_cast<T>(on), static_cast<T>(off), static_cast<T>(scale), gradient, nll + n);
  });
  double sum = 0;
  for (double loss : losses) sum += loss;  // in the order of the rows, whatever the threads did
  return sum;
}

// The rows of a chunk on another device or of another type, by libtorch's own operators.
double softmax_rows_generic(at::Tensor &logits_CV, const at::Tensor &targets_C, double on, double off, double scale, bool gradient, at::Tensor nll_C) {
  const int64_t V = logits_CV.size(1);
  at::Tensor log_p_CV = at::log_softmax(logits_CV, 1, at::kFloat);
  const at::Tensor index_C1 = targets_C.unsqueeze(1);
  nll_C.copy_(log_p_CV.gather(1, index_C1).squeeze(1).neg());
  double loss = weighted(on, nll_C.sum(at::kDouble).item<double>());
  if (off != 0) loss -= off * log_p_CV.sum(at::kDouble).item<double>();
  if (gradient) {
    at::Tensor grad = log_p_CV.exp_().mul_(scale * (on + off * V)).sub_(scale * off);
    grad.scatter_add_(1, index_C1, at::full_like(index_C1, -scale * on, grad.options()));
    logits_CV = grad.to(logits_CV.scalar_type());
  }
  return loss;
}

struct SoftmaxLoss : torch::autograd::Function<SoftmaxLoss> {
  // needs_* say whose gradients are computed, in the type of their tensor.
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext *ctx, const at::Tensor &hidden, const at::Tensor &weight,
                                                const std::optional<at::Tensor> &bias, const at::Tensor &targets, double on, double off, double scale,
                                                int64_t chunk, at::ScalarType type, bool needs_hidden, bool needs_weight, bool needs_bias) {
    // The type of the products was chosen before; autocasting must not choose again for each.
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor h_ND = hidden.to(type).contiguous(), w_VD = weight.to(type).contiguous();
    const at::Tensor b_V = bias ? bias->to(type).contiguous() : at::Tensor();
    const int64_t N = h_ND.size(0);
    const bool fast = h_ND.is_cpu() && (type == at::kFloat || type == at::kDouble);
    const bool gradient = needs_hidden || needs_weight || needs_bias;
    const auto sums = h_ND.options().dtype(type == at::kDouble ? at::kDouble : at::kFloat);  // at least float32
    at::Tensor nll_N = at::empty({N}, sums);
    at::Tensor gh_ND, gw_VD, gb_V;
    if (needs_hidden) gh_ND = at::empty_like(h_ND);
    if (needs_weight) gw_VD = at::zeros(w_VD.sizes(), sums);
    if (needs_bias) gb_V = at::zeros(b_V.sizes(), sums);
    double loss = 0;
    for (int64_t start = 0; start < N; start += chunk) {
      const int64_t C = std::min(chunk, N - start);
      const at::Tensor h_CD = h_ND.narrow(0, start, C);
      at::Tensor logits_CV = b_V.defined() ? at::addmm(b_V, h_CD, w_VD.t()) : at::mm(h_CD, w_VD.t());
      const at::Tensor targets_C = targets.narrow(0, start, C);
      at::Tensor nll_C = nll_N.narrow(0, start, C);
      if (!fast)
        loss += softmax_rows_generic(logits_CV, targets_C, on, off, scale, gradient, nll_C);
      else if (type == at::kFloat)
        loss += softmax_rows<float>(logits_CV, targets_C.const_data_ptr<int64_t>(), on, off, scale, gradient, nll_C);
      else
        loss += softmax_rows<double>(logits_CV, targets_C.const_data_ptr<int64_t>(), on, off, scale, gradient, nll_C);
      if (needs_hidden) {
        at::Tensor gh_CD = gh_ND.narrow(0, start, C);
        at::mm_out(gh_CD, logits_CV, w_VD);
      }
      if (needs_weight) {
        if (sums.dtype() == logits_CV.dtype())
          gw_VD.addmm_(logits_CV.t(), h_CD);
        else
          gw_VD.add_(at::mm(logits_CV.t(), h_CD));
      }
      if (needs_bias) gb_V.add_(at::sum(logits_CV, {0}, false, gb_V.scalar_type()));
    }
    if (needs_hidden) ctx->saved_data["hidden"] = gh_ND.to(hidden.scalar_type());
    if (needs_weight) ctx->saved_data["weight"] = gw_VD.to(weight.scalar_type());
    if (needs_bias) ctx->saved_data["bias"] = gb_V.to(bias->scalar_type());
    at::Tensor out = at::full({}, loss * scale, nll_N.options());
    ctx->mark_non_differentiable({nll_N});
    return {out, nll_N};
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
    torch::autograd::variable_list gradients = {take("hidden"), take("weight"), take("bias"), {}, {}, {}, {}, {}, {}, {}, {}, {}};
    saved.clear();  // so that they are handed over, not copied
    return gradients;
  }
};

// The coefficients (on, off) of the three definitions of label smoothing. T2T's
// differs from fairseq's by the constant entropy of the soft target.
void coefficients(int smoothing, double epsilon, double V, double *on, double *off, double *constant) {
  *constant = 0;
  if (smoothing == 1) {  // PyTorch, Marian
    *on = 1 - epsilon;
    *off = epsilon / V;
    return;
  }
  *off = V > 1 ? epsilon / (V - 1) : 0;
  *on = 1 - epsilon - *off;
  if (smoothing == 2 && epsilon > 0 && V > 1) {  // T2T
    const double mass = 1 - epsilon;
    *constant = (mass > 0 ? mass * std::log(mass) : 0) + (V - 1) * *off * std::log(*off);
  }
}

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_softmax_loss(ap_tensor hidden, ap_tensor weight, ap_tensor bias, ap_tensor targets, int64_t ignore, int smoothing,
                                    double epsilon, double scale, int64_t chunk, bool gradients, ap_tensor *loss, ap_tensor *nll) {
  return guard([&] {
    const at::Tensor &h = get(hidden), &w = get(weight), &y = get(targets);
    TORCH_CHECK(h.dim() == 2 && w.dim() == 2 && h.size(1) == w.size(1), "hidden states of shape ", h.sizes(), " do not fit a weight of shape ",
                w.sizes());
    TORCH_CHECK(y.dim() == 1 && y.size(0) == h.size(0), "hidden states of shape ", h.sizes(), " do not fit targets of shape ", y.sizes());
    const int64_t V = w.size(0), N = h.size(0);
    TORCH_CHECK(!bias || (get(bias).dim() == 1 && get(bias).size(0) == V), "a vocabulary of ", V, " does not fit a bias of shape ",
                bias ? get(bias).sizes() : at::IntArrayRef());
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
    if (chunk <= 0) chunk = kept >= 8192 ? 1024 : 512;
    const std::optional<at::Tensor> b = bias ? std::optional<at::Tensor>(get(bias)) : std::nullopt;
    gradients = gradients && at::GradMode::is_enabled();
    auto results = SoftmaxLoss::apply(h_kept, w, b, y_kept, on, off, scale, chunk, type, gradients && h.requires_grad(),
                                      gradients && w.requires_grad(), gradients && b && b->requires_grad());
    const at::Tensor sum = constant == 0 ? results[0] : results[0] + constant * scale * static_cast<double>(kept);
    at::Tensor clean = results[1].detach();
    if (!all) clean = at::zeros({N}, clean.options()).index_copy(0, rows, clean);
    *loss = wrap(sum);
    *nll = wrap(clean);
  });
}
