// Dropout masks shared by dropout and by the fused residual connection.
#pragma once

#include <ATen/ATen.h>

#include "random.h"

namespace ap {

// out_i = x_i * keep_i / (1 - p), where keep_i is bit i of the draw. x is contiguous.
at::Tensor apply_dropout(const at::Tensor &x, double p, DrawKey key);

}  // namespace ap
