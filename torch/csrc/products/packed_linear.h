// Linear layers whose weights stay the same for many products, and tasks that
// threads take in turn.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <atomic>

namespace ap {

// weight_OI laid out for packed_linear. The result is opaque: it has a shape,
// and no elements to read.
at::Tensor pack_weight(const at::Tensor &weight_OI);

// The same for a search, whose products have few rows at times. The weight is read when
// it is first multiplied: it keeps its values for as long as it is in use.
at::Tensor pack_searched(const at::Tensor &weight_OI);

// The same with eight bits for each weight (int8_linear.cc), whose type is qint8.
at::Tensor pack_int8(const at::Tensor &weight_OI);
bool is_int8(const at::Tensor &weight);
at::Tensor int8_linear(const at::Tensor &x_NI, const at::Tensor &weight, const at::Tensor &bias_O, bool relu);

// x_NI W^T + b, then max(0, .) where relu is set. The weight is packed, to eight bits
// or not, or plain float32; the bias may be undefined. No gradient.
at::Tensor packed_linear(const at::Tensor &x_NI, const at::Tensor &weight, const at::Tensor &bias_O, bool relu);

// How many tasks to make of `units` pieces that hold `rows` rows, each of which
// costs that many multiplications: the same number for each thread, of about `size` rows;
// one where waking the other threads would cost more than it saves.
inline int64_t count_tasks(int64_t units, int64_t rows, int64_t size, double cost) {
  const int64_t threads = at::get_num_threads();
  if (rows * cost < 1e6) return 1;
  return std::min(units, threads * ((rows + size * threads - 1) / (size * threads)));
}

// run_tasks calls f(i) for i in [0, n), each thread taking the next i when it is
// done with one. Operators inside f run on one thread, without gradients.
template <class F>
void run_tasks(int64_t n, F f) {
  std::atomic<int64_t> next{0};
  at::parallel_for(0, std::min<int64_t>(n, at::get_num_threads()), 1, [&](int64_t begin, int64_t end) {
    at::AutoDispatchBelowADInplaceOrView no_grad;
    for (int64_t worker = begin; worker < end; ++worker)
      for (int64_t i; (i = next++) < n;) f(i);
  });
}

}  // namespace ap
