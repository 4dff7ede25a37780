// Products with weights of eight bits where the processor adds four products of such numbers to a sum of 32 bits by one
// instruction (VNNI). Sums of integers are exact: a row's product does not depend on the rows beside it.
#pragma once

#include <ATen/Tensor.h>

#include <cstdint>

namespace ap {

// Whether the processor has the instruction, and APERTURE_ISA allows it.
bool has_vnni();

// A weight W [O,I], in panels (panels.h) of whose elements each is four weights of one output, for four inputs that stand
// beside each other. An output has a scale of its own. Only where has_vnni().
class Int8Panels {
 public:
  explicit Int8Panels(const at::Tensor &w_OI);

  // x_NI W^T + b, then max(0, .) where relu is set. A row of x has a scale too, and its numbers eight bits.
  at::Tensor linear(const at::Tensor &x_NI, const at::Tensor &bias_O, bool relu) const;

 private:
  int64_t O_, I_;
  at::Tensor panels_, scale_O_;
  at::Tensor offset_O_;  // what an output's sum has too much, since inputs are from 1 to 255 and not from -127 to 127
};

}  // namespace ap
