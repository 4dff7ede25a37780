// Products with weights of eight bits where the processor adds four products of such numbers to a sum of 32 bits by one
// instruction (VNNI). Sums of integers are exact: a row's product does not depend on the rows beside it.
#pragma once

#include <ATen/Tensor.h>

namespace ap {

// A weight W [O,I] of eight bits, with a scale for each output.
struct Int8Weight : c10::intrusive_ptr_target {
  // x_NI W^T + b, then max(0, .) where relu is set. A row of x has a scale too. x_NI is contiguous, of one row or more.
  virtual at::Tensor linear(const at::Tensor &x_NI, const at::Tensor &bias_O, bool relu) const = 0;
};

// Whether the processor has the instruction, and APERTURE_ISA allows it.
bool has_vnni();

// The weight in panels (panels.h) of whose elements each is four weights of one output, for four inputs that stand beside
// each other. Only where has_vnni().
c10::intrusive_ptr<Int8Weight> int8_panels(const at::Tensor &w_OI);

}  // namespace ap
