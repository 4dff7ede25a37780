// Products with a matrix that every step of a recurrence multiplies by:
//   y_t = x_t W^T + a_t
// where x_{t+1} depends on y_t, so that no product can wait for the others.
//
// The gradients of W can: step by step they would write, and add up, a matrix as large
// as W every time. Here each step of the backward pass leaves x_t and the gradient of
// y_t with the node that W went through, which comes after all steps and makes one
// product of them. W is laid out once for all products of few rows with it (packed_linear.h),
// forwards and backwards.
//
// Legend: R rows of a step, K inputs, O outputs; W [O,K], or [B,O,K] for x [B,R,K].
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <vector>

#include "api_repeated_linear.h"
#include "border/common.h"
#include "packed_linear.h"

namespace ap {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What the steps leave with their matrix.
struct Uses : torch::CustomClassHolder {
  at::Tensor packed, packed_transpose;  // float32 matrices on the CPU alone
  std::vector<at::Tensor> inputs, gradients;
};

const char *const kUses = "uses";

bool can_pack(const at::Tensor &w) { return w.dim() == 2 && w.is_cpu() && w.scalar_type() == at::kFloat && w.numel() > 0; }

// The matrix on its way to the steps.
struct Matrix : torch::autograd::Function<Matrix> {
  static at::Tensor forward(AutogradContext *ctx, const at::Tensor &w) {
    auto uses = c10::make_intrusive<Uses>();
    if (can_pack(w)) uses->packed = pack_weight(w);
    ctx->saved_data[kUses] = at::IValue::make_capsule(uses);
    ctx->set_materialize_grads(false);
    return at::alias(w);
  }

  // Runs when all steps have; what arrives here came from other operators.
  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    auto &uses = *static_cast<Uses *>(ctx->saved_data[kUses].toCapsule().get());
    if (uses.inputs.empty()) return grads;
    const at::Tensor x = at::cat(uses.inputs, -2), g = at::cat(uses.gradients, -2);
    uses.inputs.clear();
    uses.gradients.clear();
    const at::Tensor product = at::matmul(g.mT(), x);
    return {grads[0].defined() ? grads[0] + product : product};
  }
};

using UsesPointer = c10::intrusive_ptr<Uses>;

// What a matrix that went through Matrix has; null for any other.
UsesPointer uses_of(const at::Tensor &matrix) {
  auto *node = dynamic_cast<torch::autograd::CppNode<Matrix> *>(matrix.grad_fn().get());
  if (!node) return {};
  return c10::static_intrusive_pointer_cast<Uses>(node->ctx_.saved_data[kUses].toCapsule());
}

struct Step : torch::autograd::Function<Step> {
  static at::Tensor forward(AutogradContext *ctx, const at::Tensor &x, const at::Tensor &matrix, const std::optional<at::Tensor> &addend,
                            const UsesPointer &uses) {
    ctx->save_for_backward({x, matrix});
    ctx->saved_data[kUses] = at::IValue::make_capsule(uses);
    ctx->saved_data["addend"] = addend.has_value();
    if (addend && !x.is_cpu()) return x.dim() == 2 ? at::addmm(*addend, x, matrix.t()) : at::baddbmm(*addend, x, matrix.mT());
    at::Tensor y = uses->packed.defined() ? packed_linear(x, uses->packed, {}, false) : at::matmul(x, matrix.mT());
    return addend ? y.add_(*addend) : y;
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &matrix = saved[1], g = grads[0].contiguous();
    auto &uses = *static_cast<Uses *>(ctx->saved_data[kUses].toCapsule().get());
    uses.inputs.push_back(x.detach());
    uses.gradients.push_back(g);
    at::Tensor gx, ga;
    if (ctx->needs_input_grad(0)) {
      if (uses.packed.defined() && !uses.packed_transpose.defined()) uses.packed_transpose = pack_weight(matrix.mT());
      gx = uses.packed.defined() ? packed_linear(g, uses.packed_transpose, {}, false) : at::matmul(g, matrix);
    }
    if (ctx->saved_data["addend"].toBool()) ga = grads[0];
    return {gx, {}, ga, {}};
  }
};

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" {

ap_error ap_repeated(ap_tensor weight, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &w = get(weight);
    TORCH_CHECK(w.dim() == 2 || w.dim() == 3, "a tensor of shape ", w.sizes(), " is no matrix and no batch of them");
    *out = wrap(at::GradMode::is_enabled() && w.requires_grad() ? Matrix::apply(w) : at::alias(w));
  });
}

ap_error ap_repeated_linear(ap_tensor x, ap_tensor matrix, ap_tensor addend, ap_tensor *out) {
  return guard([&] {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);  // as an LSTM's steps
    const at::Tensor &X = get(x), &w = get(matrix);
    std::optional<at::Tensor> a;
    if (addend) a = get(addend);
    TORCH_CHECK(X.dim() == w.dim() && X.size(-1) == w.size(-1) && (w.dim() == 2 || X.size(0) == w.size(0)), "an input of shape ", X.sizes(),
                " does not fit a matrix of shape ", w.sizes());
    if (a) {
      auto shape = X.sizes().vec();
      shape.back() = w.size(-2);
      TORCH_CHECK(a->sizes() == shape, "a product of shape ", at::IntArrayRef(shape), " does not fit a term of shape ", a->sizes());
    }
    if (const UsesPointer uses = uses_of(w); uses && at::GradMode::is_enabled()) {
      *out = wrap(Step::apply(X, w, a, uses));
      return;
    }
    const at::Tensor y = at::matmul(X, w.mT());
    *out = wrap(a ? y + *a : y);
  });
}

}  // extern "C"
