// Activations that are faster than libtorch's (activation.cc).
#pragma once

#include <ATen/core/Tensor.h>

namespace ap {

// x times the normal distribution's probability of less than x, by its approximation with a hyperbolic tangent.
at::Tensor gelu_tanh(const at::Tensor &x);

}  // namespace ap
