#include "output_loss.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>

#include <cmath>
#include <vector>

#include "api_output_loss.h"
#include "border/common.h"
#include "border/given_gradients.h"
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
  TORCH_CHECK(smoothing >= 0 && smoothing <= 2, "there is no label smoothing ", smoothing);
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
  LossKernel kernel;        // or null
  GenericLossKernel generic;
};

// The operands as they are given; prior, bias and shift may be undefined.
struct Given {
  at::Tensor hidden, prior, weight, bias, targets, shift;
};

// a b in a type that is at least that of the operands. A GPU's product gives it itself.
at::Tensor wide_product(const at::Tensor &a, const at::Tensor &b, at::ScalarType wide) {
  if (a.scalar_type() != wide && a.is_cuda()) return at::mm(a, b, wide);
  return at::mm(a, b).to(wide);
}

// sum_VD += g_RV^T h_RD, made where there is no sum yet.
void add_product(at::Tensor &sum_VD, const at::Tensor &g_RV, const at::Tensor &h_RD, at::ScalarType wide) {
  if (!sum_VD.defined())
    sum_VD = wide_product(g_RV.t(), h_RD, wide);
  else if (g_RV.scalar_type() == sum_VD.scalar_type())
    sum_VD.addmm_(g_RV.t(), h_RD);
  else if (const at::Tensor part_VD = at::mm(g_RV.t(), h_RD); part_VD.is_cpu() && part_VD.scalar_type() == at::kBFloat16 && sum_VD.is_contiguous()) {
    const at::BFloat16 *part = part_VD.const_data_ptr<at::BFloat16>();
    float *sum = sum_VD.mutable_data_ptr<float>();
    at::parallel_for(0, sum_VD.numel(), at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) { add_row(part + begin, end - begin, sum + begin); });
  } else
    sum_VD.add_(part_VD);
}

// What the operands of positions that count give: the loss, with its gradients, and what positions have.
struct Result {
  at::Tensor loss, nll_N, shifted_N;
};

Result compute(const Given &x, const Plan &plan) {
  const c10::AutoGradMode no_gradients(false);
  // The type of the products was chosen before; autocasting must not choose again for each.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Terms &terms = plan.terms;
  const Needs &needs = plan.needs;
  const auto as = [](const at::Tensor &x, at::ScalarType type) { return x.defined() ? x.to(type).contiguous() : x; };
  const at::Tensor h = as(x.hidden, plan.type), w_VD = as(x.weight, plan.type), b_V = as(x.bias, plan.type);  // h [N,D] or [N,K,D]
  const int64_t N = h.size(0), K = h.dim() == 3 ? h.size(1) : 1, D = w_VD.size(1);
  const auto rows = [&](const at::Tensor &x, int64_t start, int64_t C) { return x.narrow(0, start, C).view({C * K, D}); };
  const at::ScalarType wide = plan.type == at::kDouble ? at::kDouble : at::kFloat;
  const auto sums = h.options().dtype(wide);
  Positions positions{as(x.prior, wide), as(x.shift, wide), at::empty({N}, sums), {}, {}, {}};
  if (x.shift.defined()) positions.shifted_N = at::empty({N}, sums);
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
    const at::Tensor h_RD = rows(h, start, C), targets_C = x.targets.narrow(0, start, C);
    at::Tensor logits_RV;
    if (b_V.defined())
      logits_RV = at::addmm(b_V, h_RD, w_VD.t());
    else
      logits_RV = plan.kernel ? at::mm(h_RD, w_VD.t()) : wide_product(h_RD, w_VD.t(), wide);
    if (plan.kernel) {
      loss += plan.kernel(logits_RV, targets_C, terms, positions.narrow(start, C));
    } else
      add(generic_loss, plan.generic(logits_RV, targets_C, terms, positions.narrow(start, C)));
    if (needs.hidden) {
      at::Tensor gh_RD = rows(gh, start, C);
      at::mm_out(gh_RD, logits_RV, w_VD);
    }
    if (needs.weight) add_product(gw_VD, logits_RV, h_RD, wide);
    if (needs.bias) add(gb_V, at::sum(logits_RV, {0}, false, wide));
  }
  double sum = loss * terms.scale;
  if (wide == at::kFloat) sum = static_cast<float>(sum);  // infinite if float32 does not hold it, which at::full would refuse
  const at::Tensor total = plan.kernel ? at::full({}, sum, sums) : generic_loss.to(wide);
  if (terms.bare && terms.off != 0) {  // sum_j g_nj w_j and sum_n g_nj h_n of the -off in all g_nj
    if (needs.hidden) gh.sub_(w_VD.sum(0, false, wide), terms.off);
    if (needs.weight) gw_VD.sub_(h.sum(0, false, wide), terms.off);
    if (needs.bias) gb_V.sub_(terms.off * static_cast<double>(N));
  }
  std::vector<at::Tensor> operands, gradients;
  const auto gives = [&](bool needed, const at::Tensor &operand, at::Tensor &gradient) {
    if (needed) operands.push_back(operand), gradients.push_back(std::move(gradient));
  };
  gives(needs.hidden, x.hidden, gh);
  gives(needs.prior, x.prior, positions.g_prior_NK);
  gives(needs.weight, x.weight, gw_VD);
  gives(needs.bias, x.bias, gb_V);
  gives(needs.shift, x.shift, positions.g_shift);
  const c10::AutoGradMode with(needs.any());
  return {with_gradients(total, operands, std::move(gradients), terms.bare ? terms.scale : 1), positions.nll_N, positions.shifted_N};
}

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
  for (const at::Tensor *y : {&x.prior, &x.weight, &x.bias, &x.shift}) check_together(h, *y);
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

// Positions that count, on the device: the operands' rows for them, and their places where there are others.
struct Counted {
  Given x;
  at::Tensor places;
  at::ScalarType type;  // of the products
};

// Refuses operands that make no sense and leaves out ignored positions, before the products instead of after them.
Counted counted(const Given &x, int64_t ignore) {
  check(x);
  Counted c{x, {}, product_type(x)};
  at::Tensor places = at::nonzero(x.targets.ne(ignore)).squeeze(1);
  const bool all = places.size(0) == x.targets.size(0);
  c.x.targets = all ? x.targets.contiguous() : x.targets.index_select(0, places);
  check_range(c.x.targets, x.weight.size(0), "a target", "the vocabulary");
  const at::Device device = x.hidden.device();
  c.x.targets = moved(c.x.targets, device, at::kLong);
  if (all) return c;
  c.places = moved(places, device, at::kLong);
  for (at::Tensor *y : {&c.x.hidden, &c.x.prior, &c.x.shift})
    if (y->defined()) *y = y->index_select(0, c.places);
  return c;
}

Given given(const Operands &operands) {
  const auto maybe = [](ap_tensor x) { return x ? get(x) : at::Tensor(); };
  return {get(operands.hidden), maybe(operands.prior), get(operands.weight), maybe(operands.bias), get(operands.targets), maybe(operands.shift)};
}

}  // namespace

void output_loss(const LossKernels &kernels, const Operands &operands, const ap_loss_options &options, ap_tensor *loss, ap_tensor *nll,
                 ap_tensor *shifted) {
  const auto [x, places, type] = counted(given(operands), options.ignore);
  const int64_t N = get(operands.hidden).size(0), kept = x.hidden.size(0), K = x.prior.defined() ? x.prior.size(1) : 1, V = x.weight.size(0);
  const bool on_cpu = x.hidden.is_cpu();
  Plan plan{Terms{options, 0, 0, false, type}, {}, type, nullptr, kernels.generic};
  double constant;
  coefficients(options.smoothing, options.epsilon, static_cast<double>(V), &plan.terms.on, &plan.terms.off, &constant);
  const auto wanted = [&](const at::Tensor &y) { return options.gradients && at::GradMode::is_enabled() && y.defined() && y.requires_grad(); };
  plan.needs = {wanted(x.hidden), wanted(x.prior), wanted(x.weight), wanted(x.bias), wanted(x.shift)};
  plan.terms.gradients = plan.needs.any();
  const int64_t size = type == at::kDouble ? sizeof(double) : sizeof(float);
  const int64_t rows = options.chunk > 0 ? options.chunk : chunk_rows(kept * K, V * size, on_cpu);
  plan.terms.chunk = std::max<int64_t>(1, rows / K);
  if (on_cpu && (type == at::kFloat || type == at::kBFloat16)) plan.kernel = kernels.float32;
  if (on_cpu && type == at::kDouble) plan.kernel = kernels.float64;
  plan.terms.bare = !plan.kernel && !x.prior.defined() && !x.shift.defined() && options.z_loss == 0 && kept > 0 && V > 1 && plan.terms.on != 0;  // then on + off V is 1
  const Result result = compute(x, plan);
  const auto by_position = [&, places = places](const at::Tensor &values) {
    return kept == N ? values : at::zeros({N}, values.options()).index_copy(0, places, values);
  };
  *loss = wrap(constant == 0 ? result.loss : result.loss + constant * options.scale * static_cast<double>(kept));
  *nll = wrap(by_position(result.nll_N));
  if (x.shift.defined()) *shifted = wrap(by_position(result.shifted_N));
}

}  // namespace ap

using namespace ap;

extern "C" {

ap_error ap_counted(ap_tensor hidden, ap_tensor prior, ap_tensor weight, ap_tensor bias, ap_tensor targets, ap_tensor shift, int64_t ignore,
                    ap_tensor *places, ap_tensor *kept, int *dtype) {
  return guard([&] {
    const c10::AutoGradMode no_gradients(false);
    const Counted c = counted(given({hidden, prior, weight, bias, targets, shift}), ignore);
    *places = c.places.defined() ? wrap(c.places) : nullptr;
    *kept = wrap(c.x.targets);
    *dtype = static_cast<int>(c.type);
  });
}

ap_error ap_add_product(ap_tensor sum, ap_tensor g, ap_tensor h) {
  return guard([&] {
    const c10::AutoGradMode no_gradients(false);
    add_product(get(sum), get(g), get(h), get(sum).scalar_type());
  });
}

int64_t ap_chunk_rows(int64_t rows, int64_t bytes, bool on_cpu) { return chunk_rows(rows, bytes, on_cpu); }

}  // extern "C"
