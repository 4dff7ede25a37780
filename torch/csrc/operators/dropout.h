// Dropout masks shared by dropout and by the fused residual connection.
#pragma once

#include <ATen/ATen.h>

#include "random.h"

namespace ap {

inline void check_dropout(double p) { TORCH_CHECK(p >= 0 && p < 1, "the dropout rate must be at least 0 and below 1, not ", p); }

// out_i = x_i * keep_i / (1 - p), where keep_i is bit i of the draw. x is contiguous and lies on the CPU.
at::Tensor apply_dropout(const at::Tensor &x, double p, DrawKey key);

// An accelerator's own generator, seeded for a draw of x's.
at::Generator device_generator(const at::Tensor &x, DrawKey key);

// apply_dropout in place.
void apply_dropout_(at::Tensor &x, double p, DrawKey key);

}  // namespace ap
