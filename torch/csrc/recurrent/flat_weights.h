// The weights of one recurrent layer, one behind the other in a buffer of their own.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace ap {

// flat_weights copies a layer's weights into one buffer, both matrices before both biases, and gives the views of it
// that stand for them; gradients reach the weights unchanged. cuDNN wants one buffer in this order: of weights that lie
// elsewhere libtorch makes one itself, with a copy for each, and warns at each call of each layer that it had to. On
// the CPU, where nobody asks for a buffer, the weights come back as they are.
std::array<at::Tensor, 4> flat_weights(const at::Tensor &w_ih, const at::Tensor &w_hh, const at::Tensor &b_ih, const at::Tensor &b_hh);

}  // namespace ap
