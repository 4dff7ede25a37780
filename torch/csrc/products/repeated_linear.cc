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

#include <memory>
#include <vector>

#include "api_repeated_linear.h"
#include "border/common.h"
#include "border/operator.h"
#include "packed_linear.h"

namespace ap {
namespace {

// What the steps leave with their matrix.
struct Uses {
  at::Tensor packed, packed_transpose;  // float32 matrices on the CPU alone
  std::vector<at::Tensor> inputs, gradients;
};

bool can_pack(const at::Tensor &w) { return w.dim() == 2 && w.is_cpu() && w.scalar_type() == at::kFloat && w.numel() > 0; }

// The matrix on its way to the steps.
struct Matrix : Operator {
  const std::shared_ptr<Uses> uses = std::make_shared<Uses>();

  Tensors forward(const Tensors &operands) override {
    const at::Tensor &w = operands[0];
    if (can_pack(w)) uses->packed = pack_weight(w);
    set_materialize_grads(false);
    return {at::alias(w)};
  }

  // Runs when all steps have; what arrives here came from other operators.
  Tensors backward(const Tensors &grads) override {
    if (uses->inputs.empty()) return grads;
    const at::Tensor x = at::cat(uses->inputs, -2), g = at::cat(uses->gradients, -2);
    uses->inputs.clear();
    uses->gradients.clear();
    const at::Tensor product = at::matmul(g.mT(), x);
    return {grads[0].defined() ? grads[0] + product : product};
  }
};

// Of the input, the matrix, and the term or an undefined tensor.
class Step : public Operator {
 public:
  explicit Step(std::shared_ptr<Uses> uses) : uses_(std::move(uses)) {}

  Tensors forward(const Tensors &operands) override {
    const at::Tensor &x = operands[0], &matrix = operands[1], &addend = operands[2];
    save_for_backward({x, matrix});
    if (addend.defined() && !x.is_cpu()) return {x.dim() == 2 ? at::addmm(addend, x, matrix.t()) : at::baddbmm(addend, x, matrix.mT())};
    at::Tensor y = uses_->packed.defined() ? packed_linear(x, uses_->packed, {}, false) : at::matmul(x, matrix.mT());
    if (addend.defined()) y.add_(addend);
    return {y};
  }

  Tensors backward(const Tensors &grads) override {
    const Tensors saved = saved_tensors();
    const at::Tensor &x = saved[0], &matrix = saved[1], g = grads[0].contiguous();
    if (needs_input_grad(1)) {
      uses_->inputs.push_back(x.detach());
      uses_->gradients.push_back(g);
    }
    at::Tensor gx;
    if (needs_input_grad(0)) {
      if (uses_->packed.defined() && !uses_->packed_transpose.defined()) uses_->packed_transpose = pack_weight(matrix.mT());
      gx = uses_->packed.defined() ? packed_linear(g, uses_->packed_transpose, {}, false) : at::matmul(g, matrix);
    }
    return {gx, {}, grads[0]};
  }

 private:
  std::shared_ptr<Uses> uses_;
};

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" {

ap_error ap_repeated(ap_tensor weight, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &w = get(weight);
    TORCH_CHECK(w.dim() == 2 || w.dim() == 3, "a tensor of shape ", w.sizes(), " is no matrix and no batch of them");
    *out = wrap(at::GradMode::is_enabled() && w.requires_grad() ? recorded<Matrix>({w})[0] : at::alias(w));
  });
}

ap_error ap_repeated_linear(ap_tensor x, ap_tensor matrix, ap_tensor addend, ap_tensor *out) {
  return guard([&] {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);  // as an LSTM's steps
    const at::Tensor &X = get(x), &w = get(matrix);
    const at::Tensor a = addend ? get(addend) : at::Tensor();
    TORCH_CHECK(X.dim() == w.dim() && X.size(-1) == w.size(-1) && (w.dim() == 2 || X.size(0) == w.size(0)), "an input of shape ", X.sizes(),
                " does not fit a matrix of shape ", w.sizes());
    if (a.defined()) {
      auto shape = X.sizes().vec();
      shape.back() = w.size(-2);
      TORCH_CHECK(a.sizes() == shape, "a product of shape ", at::IntArrayRef(shape), " does not fit a term of shape ", a.sizes());
    }
    if (const auto *through = dynamic_cast<Matrix *>(operator_of(w)); through && at::GradMode::is_enabled()) {
      *out = wrap(recorded<Step>({X, w, a}, through->uses)[0]);
      return;
    }
    const at::Tensor y = at::matmul(X, w.mT());
    *out = wrap(a.defined() ? y + a : y);
  });
}

}  // extern "C"
