// The gradient of an LSTM's bias, the same for any number of threads.
//
// Legend: N rows, G four times the width.
#pragma once

#include <ATen/Functions.h>

namespace ap {

// libtorch shares columns out to threads by 32, and sums those behind the last 32 in another order where a thread has
// nothing else: they are summed by themselves.
inline at::Tensor bias_gradient(const at::Tensor &gates_NG) {
  const int64_t rest = gates_NG.size(1) % 32, whole = gates_NG.size(1) - rest;
  if (rest == 0 || whole == 0) return gates_NG.sum(0);
  return at::cat({gates_NG.narrow(1, 0, whole).sum(0), gates_NG.narrow(1, whole, rest).sum(0)});
}

}  // namespace ap
