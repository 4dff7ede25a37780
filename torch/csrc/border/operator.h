// Operators with a backward pass of their own: torch::autograd::Function for files that then need not read autograd's
// headers, which takes g++ five seconds a file.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace torch::autograd {
struct AutogradContext;
}

namespace ap {

using Tensors = std::vector<at::Tensor>;

// One application of an operator. A member may hold what is neither an operand nor a result; these are for
// save_for_backward().
class Operator {
 public:
  virtual ~Operator() = default;

  // The results, computed without recording. Operands may be undefined.
  virtual Tensors forward(const Tensors &operands) = 0;

  // From the gradients of the results those of the operands, in their order; undefined where an operand has none.
  virtual Tensors backward(const Tensors &gradients) = 0;

 protected:
  // For forward: keeps tensors for the backward pass, which refuses them if they were changed meanwhile.
  void save_for_backward(const Tensors &tensors);
  // For forward: results without gradients.
  void mark_non_differentiable(const Tensors &results);
  // For forward: whether backward gets zeros, as it does unless told, or undefined tensors for results without a
  // gradient.
  void set_materialize_grads(bool value);

  // For backward: what was kept, and whether the operand's gradient is wanted.
  Tensors saved_tensors() const;
  bool needs_input_grad(size_t operand) const;

 private:
  friend struct Recorded;
  torch::autograd::AutogradContext *context_ = nullptr;  // of the pass that runs
  std::vector<size_t> defined_;                          // the operands that autograd knows
};

// The results of the operator, which autograd records as Function::apply does.
Tensors recorded(std::unique_ptr<Operator> made, const Tensors &operands);

template <class T, class... Args>
Tensors recorded(const Tensors &operands, Args &&...args) {
  return recorded(std::make_unique<T>(std::forward<Args>(args)...), operands);
}

// The operator that gave x, or null.
Operator *operator_of(const at::Tensor &x);

}  // namespace ap
