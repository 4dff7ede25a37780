#include "output_loss.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <vector>

#include "border/common.h"
#include "softmax_row.h"

namespace ap {

Positions Positions::narrow(int64_t start, int64_t length) const {
  const auto part = [&](const at::Tensor &x) { return x.defined() ? x.narrow(0, start, length) : x; };
  return {part(prior_NK), part(shift), part(nll_N), part(shifted_N), part(g_prior_NK), part(g_shift)};
}

at::Tensor weighted_sum(double weight, const at::Tensor &x) {
  const auto scalar = x.options().dtype(at::kDouble);
  if (weight == 0) return at::zeros({}, scalar);
  const at::Tensor sum = x.sum(at::kDouble);
  return weight == 1 ? sum : sum * weight;
}

double sum_positions(int64_t C, const std::function<void(int64_t begin, int64_t end, double *losses)> &fill) {
  std::vector<double> losses(C);
  at::parallel_for(0, C, 1, [&](int64_t begin, int64_t end) { fill(begin, end, losses.data()); });
  double sum = 0;
  for (double loss : losses) sum += loss;
  return sum;
}

namespace {

// The coefficients (on, off) of the three definitions of label smoothing: a position
// pays on * nll + off * sum_j (-log p_j) + constant. T2T's differs from fairseq's by
// the constant entropy of the soft target.
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

// Whose gradients are computed, in the type of their tensor.
struct Needs {
  bool hidden, prior, weight, bias, shift;
  bool any() const { return hidden || prior || weight || bias || shift; }
};

// How a loss is computed, beside its operands.
struct Plan {
  Terms terms;
  Needs needs;
  at::ScalarType type;  // of the products
  Kernel kernel;        // or null
  GenericKernel generic;
};

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Operands that may be missing are undefined tensors; an std::optional is how autograd is told that they may.
using Maybe = std::optional<at::Tensor>;

struct OutputLoss : torch::autograd::Function<OutputLoss> {
  static variable_list forward(AutogradContext *ctx, const at::Tensor &hidden, const Maybe &prior, const at::Tensor &weight, const Maybe &bias,
                               const Maybe &shift, const at::Tensor &targets, const Plan &plan) {
    // The type of the products was chosen before; autocasting must not choose again for each.
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const Terms &terms = plan.terms;
    const Needs &needs = plan.needs;
    const auto as = [](const at::Tensor &x, at::ScalarType type) { return x.defined() ? x.to(type).contiguous() : x; };
    const at::Tensor h = as(hidden, plan.type), w_VD = as(weight, plan.type), b_V = as(*bias, plan.type);  // h [N,D] or [N,K,D]
    const int64_t N = h.size(0), K = h.dim() == 3 ? h.size(1) : 1, D = w_VD.size(1);
    const auto rows = [&](const at::Tensor &x, int64_t start, int64_t C) { return x.narrow(0, start, C).view({C * K, D}); };
    const at::ScalarType wide = plan.type == at::kDouble ? at::kDouble : at::kFloat;
    const auto sums = h.options().dtype(wide);
    Positions positions{as(*prior, wide), as(*shift, wide), at::empty({N}, sums), {}, {}, {}};
    if (shift->defined()) positions.shifted_N = at::empty({N}, sums);
    if (needs.prior) positions.g_prior_NK = at::empty_like(positions.prior_NK);
    if (needs.shift) positions.g_shift = at::empty_like(positions.shift);
    at::Tensor gh, gw_VD, gb_V;
    if (needs.hidden) gh = at::empty_like(h);
    // On a device, where all positions are one chunk, a sum is its first part.
    const bool from_zero = (plan.kernel && plan.type == wide) || N == 0;
    if (needs.weight && from_zero) gw_VD = at::zeros(w_VD.sizes(), sums);
    if (needs.bias && from_zero) gb_V = at::zeros(b_V.sizes(), sums);
    double loss = 0;
    at::Tensor generic_loss;
    if (!plan.kernel && N == 0) generic_loss = at::zeros({}, h.options().dtype(at::kDouble));
    const auto add = [](at::Tensor &sum, const at::Tensor &part) { sum = sum.defined() ? sum.add_(part) : part; };
    for (int64_t start = 0; start < N; start += terms.chunk) {
      const int64_t C = std::min(terms.chunk, N - start);
      const at::Tensor h_RD = rows(h, start, C);
      at::Tensor logits_RV = b_V.defined() ? at::addmm(b_V, h_RD, w_VD.t()) : at::mm(h_RD, w_VD.t());
      if (plan.kernel) {
        at::Tensor wide_RV = logits_RV.to(wide);
        loss += plan.kernel(wide_RV, targets.narrow(0, start, C), terms, positions.narrow(start, C));
        logits_RV = wide_RV.to(plan.type);
      } else
        add(generic_loss, plan.generic(logits_RV, targets.narrow(0, start, C), terms, positions.narrow(start, C)));
      if (needs.hidden) {
        at::Tensor gh_RD = rows(gh, start, C);
        at::mm_out(gh_RD, logits_RV, w_VD);
      }
      if (needs.weight) {
        if (plan.type == wide && gw_VD.defined())
          gw_VD.addmm_(logits_RV.t(), h_RD);
        else
          add(gw_VD, at::mm(logits_RV.t(), h_RD).to(wide));
      }
      if (needs.bias) add(gb_V, at::sum(logits_RV, {0}, false, wide));
    }
    auto &saved = ctx->saved_data;
    if (needs.hidden) saved["hidden"] = gh.to(hidden.scalar_type());
    if (needs.prior) saved["prior"] = positions.g_prior_NK.to(prior->scalar_type());
    if (needs.weight) saved["weight"] = gw_VD.to(weight.scalar_type());
    if (needs.bias) saved["bias"] = gb_V.to(bias->scalar_type());
    if (needs.shift) saved["shift"] = positions.g_shift.to(shift->scalar_type());
    double sum = loss * terms.scale;
    if (wide == at::kFloat) sum = static_cast<float>(sum);  // infinite if float32 does not hold it, which at::full would refuse
    at::Tensor total = plan.kernel ? at::full({}, sum, sums) : at::empty({}, sums);
    if (!plan.kernel) at::mul_out(total, generic_loss, at::scalar_tensor(terms.scale, at::kDouble));
    variable_list results = {total, positions.nll_N};
    if (shift->defined()) results.push_back(positions.shifted_N);
    ctx->mark_non_differentiable({results.begin() + 1, results.end()});
    ctx->set_materialize_grads(false);  // none comes for these
    return results;
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    auto &saved = ctx->saved_data;
    TORCH_CHECK(!saved.empty(), "OutputLoss: this loss was made without gradients, or was already used");
    const auto take = [&](const char *name) { return saved.count(name) ? saved[name].toTensor() : at::Tensor(); };
    variable_list gradients = {take("hidden"), take("prior"), take("weight"), take("bias"), take("shift"), {}, {}};
    saved.clear();  // so that they are handed over, not copied
    variable_list alike;
    for (at::Tensor &gradient : gradients) {
      if (gradient.defined() && !gradient.is_cpu() && gradient.scalar_type() == grads[0].scalar_type())
        alike.push_back(gradient);
      else if (gradient.defined())
        gradient = times_incoming(gradient, grads[0]);
    }
    if (!alike.empty()) at::_foreach_mul_(alike, grads[0]);
    return gradients;
  }
};

// The operands as they are given; prior, bias and shift may be undefined.
struct Given {
  at::Tensor hidden, prior, weight, bias, targets, shift;
};

// Refuses operands that do not fit each other.
void check(const Given &x) {
  const at::Tensor &h = x.hidden, &w = x.weight;
  const bool mixture = x.prior.defined();
  const char *states = mixture ? "latent states" : "hidden states";
  TORCH_CHECK(h.dim() == (mixture ? 3 : 2) && (!mixture || h.size(1) > 0) && w.dim() == 2 && h.size(-1) == w.size(1), states, " of shape ", h.sizes(),
              " do not fit a weight of shape ", w.sizes());
  const at::IntArrayRef rows = h.sizes().slice(0, h.dim() - 1);  // [N], of a mixture [N,K]
  TORCH_CHECK(!mixture || x.prior.sizes() == rows, states, " of shape ", h.sizes(), " do not fit a prior of shape ", x.prior.sizes());
  TORCH_CHECK(x.targets.dim() == 1 && x.targets.size(0) == h.size(0), states, " of shape ", h.sizes(), " do not fit targets of shape ",
              x.targets.sizes());
  TORCH_CHECK(!x.bias.defined() || (x.bias.dim() == 1 && x.bias.size(0) == w.size(0)), "a vocabulary of ", w.size(0),
              " does not fit a bias of shape ", x.bias.sizes());
  TORCH_CHECK(!x.shift.defined() || x.shift.sizes() == rows, states, " of shape ", h.sizes(), " do not fit shifts of shape ", x.shift.sizes());
  TORCH_CHECK(x.targets.scalar_type() == at::kLong, "targets must be int64, not ", x.targets.scalar_type());
}

// The type of the products: what autocasting says, else that of all operands.
at::ScalarType product_type(const Given &x) {
  const auto device = x.hidden.device().type();
  if (at::autocast::is_autocast_enabled(device)) return at::autocast::get_autocast_dtype(device);
  const at::ScalarType type = x.hidden.scalar_type();
  TORCH_CHECK(x.weight.scalar_type() == type && (!x.bias.defined() || x.bias.scalar_type() == type), x.prior.defined() ? "latent" : "hidden",
              " states of type ", type, " do not fit a weight of type ", x.weight.scalar_type());
  return type;
}

void check_range(const at::Tensor &targets, int64_t V) {
  if (targets.size(0) == 0) return;
  const auto range = targets.aminmax();
  const int64_t low = std::get<0>(range).item<int64_t>(), high = std::get<1>(range).item<int64_t>();
  TORCH_CHECK(low >= 0 && high < V, "a target of ", low < 0 ? low : high, " is outside the vocabulary of ", V);
}

}  // namespace

void output_loss(const Kernels &kernels, const Operands &operands, const ap_loss_options &options, ap_tensor *loss, ap_tensor *nll,
                 ap_tensor *shifted) {
  const auto given = [](ap_tensor x) { return x ? get(x) : at::Tensor(); };
  const Given x{get(operands.hidden), given(operands.prior),  get(operands.weight),
                given(operands.bias), get(operands.targets), given(operands.shift)};
  check(x);
  const at::ScalarType type = product_type(x);
  const int64_t N = x.hidden.size(0), K = x.prior.defined() ? x.prior.size(1) : 1, V = x.weight.size(0);
  // Ignored positions are left out before the products, not masked after them.
  at::Tensor places = at::nonzero(x.targets.ne(options.ignore)).squeeze(1);
  const int64_t kept = places.size(0);
  at::Tensor targets = kept < N ? x.targets.index_select(0, places) : x.targets.contiguous();
  check_range(targets, V);
  const at::Device device = x.hidden.device();
  targets = moved(targets, device, at::kLong);
  if (kept < N) places = moved(places, device, at::kLong);
  const auto keep = [&](const at::Tensor &y) { return y.defined() && kept < N ? y.index_select(0, places) : y; };
  Plan plan{Terms{options, 0, 0}, {}, type, nullptr, kernels.generic};
  double constant;
  coefficients(options.smoothing, options.epsilon, static_cast<double>(V), &plan.terms.on, &plan.terms.off, &constant);
  const auto wanted = [&](const at::Tensor &y) { return options.gradients && at::GradMode::is_enabled() && y.defined() && y.requires_grad(); };
  plan.needs = {wanted(x.hidden), wanted(x.prior), wanted(x.weight), wanted(x.bias), wanted(x.shift)};
  plan.terms.gradients = plan.needs.any();
  const int64_t rows = options.chunk > 0 ? options.chunk : chunk_rows(kept * K, V * static_cast<int64_t>(type == at::kDouble ? sizeof(double) : sizeof(float)), device.is_cpu());
  plan.terms.chunk = std::max<int64_t>(1, rows / K);
  if (device.is_cpu() && (type == at::kFloat || type == at::kBFloat16)) plan.kernel = kernels.float32;
  if (device.is_cpu() && type == at::kDouble) plan.kernel = kernels.float64;
  const variable_list results = OutputLoss::apply(keep(x.hidden), Maybe(keep(x.prior)), x.weight, Maybe(x.bias), Maybe(keep(x.shift)), targets, plan);
  const auto by_position = [&](const at::Tensor &values_N) {
    const at::Tensor values = values_N.detach();
    return kept == N ? values : at::zeros({N}, values.options()).index_copy(0, places, values);
  };
  *loss = wrap(constant == 0 ? results[0] : results[0] + constant * options.scale * static_cast<double>(kept));
  *nll = wrap(by_position(results[1]));
  if (x.shift.defined()) *shifted = wrap(by_position(results[2]));
}

}  // namespace ap
