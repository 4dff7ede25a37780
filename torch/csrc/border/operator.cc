#include "operator.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "common.h"

namespace ap {
namespace {

const char *const kOperator = "operator";

struct Holder : torch::CustomClassHolder {
  explicit Holder(std::unique_ptr<Operator> made) : held(std::move(made)) {}
  std::unique_ptr<Operator> held;
};

Operator *held_by(torch::autograd::AutogradContext &context) {
  return static_cast<Holder *>(context.saved_data[kOperator].toCapsule().get())->held.get();
}

}  // namespace

// The one node of autograd for all operators.
struct Recorded : torch::autograd::Function<Recorded> {
  static Tensors forward(torch::autograd::AutogradContext *context, at::TensorList, const c10::intrusive_ptr<Holder> &holder,
                         const Tensors &operands) {
    Operator &made = *holder->held;
    made.context_ = context;
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i].defined()) made.defined_.push_back(i);
    context->saved_data[kOperator] = at::IValue::make_capsule(holder);
    return made.forward(operands);
  }

  static Tensors backward(torch::autograd::AutogradContext *context, Tensors gradients) {
    Operator &made = *held_by(*context);
    made.context_ = context;
    const Tensors all = made.backward(gradients);
    Tensors results;
    for (const size_t i : made.defined_) results.push_back(all.at(i));
    results.resize(results.size() + 2);  // none for the operator and for all operands once more
    return results;
  }
};

void Operator::save_for_backward(const Tensors &tensors) { context_->save_for_backward(tensors); }
void Operator::mark_non_differentiable(const Tensors &results) { context_->mark_non_differentiable(results); }
void Operator::set_materialize_grads(bool value) { context_->set_materialize_grads(value); }
Tensors Operator::saved_tensors() const { return context_->get_saved_variables(); }
bool Operator::needs_input_grad(size_t operand) const {
  const auto place = std::lower_bound(defined_.begin(), defined_.end(), operand);
  return place != defined_.end() && *place == operand && context_->needs_input_grad(static_cast<size_t>(place - defined_.begin()));
}

Tensors recorded(std::unique_ptr<Operator> made, const Tensors &operands) {
  Tensors defined;
  std::copy_if(operands.begin(), operands.end(), std::back_inserter(defined), [](const at::Tensor &x) { return x.defined(); });
  for (const at::Tensor &x : defined) check_together(defined[0], x);
  return Recorded::apply(at::TensorList(defined), c10::make_intrusive<Holder>(std::move(made)), operands);
}

Operator *operator_of(const at::Tensor &x) {
  auto *node = dynamic_cast<torch::autograd::CppNode<Recorded> *>(x.grad_fn().get());
  return node ? held_by(node->ctx_) : nullptr;
}

}  // namespace ap
