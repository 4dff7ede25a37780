// A value whose gradients were computed with it, as those of a loss that works in chunks are (given_gradients.cc).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace ap {

// The value, as a function of the operands with these gradients, one for each, of its shape, times the factor. The
// backward pass multiplies them by that and the gradient that comes in, hands them over and keeps nothing, so that it
// runs once. Without operands it is the value.
at::Tensor with_gradients(const at::Tensor &value, const std::vector<at::Tensor> &operands, std::vector<at::Tensor> gradients, double factor = 1);

}  // namespace ap
