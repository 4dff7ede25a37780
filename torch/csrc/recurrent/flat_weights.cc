#include "flat_weights.h"

#include <ATen/Functions.h>

#include "border/operator.h"

namespace ap {
namespace {

// Views made by differentiable operators would each set a gradient of the whole buffer to 0 and add its own part to it.
struct FlatWeights : Operator {
  Tensors forward(const Tensors &weights) override {
    const at::Tensor buffer = at::cat({weights[0].reshape(-1), weights[1].reshape(-1), weights[2], weights[3]});
    Tensors views;
    int64_t place = 0;
    for (const at::Tensor &w : weights) {
      views.push_back(buffer.narrow(0, place, w.numel()).view(w.sizes()));
      place += w.numel();
    }
    return views;
  }

  Tensors backward(const Tensors &grads) override { return grads; }
};

}  // namespace

std::array<at::Tensor, 4> flat_weights(const at::Tensor &w_ih, const at::Tensor &w_hh, const at::Tensor &b_ih, const at::Tensor &b_hh) {
  if (w_ih.is_cpu()) return {w_ih, w_hh, b_ih, b_hh};
  const Tensors flat = recorded<FlatWeights>({w_ih, w_hh, b_ih, b_hh});
  return {flat[0], flat[1], flat[2], flat[3]};
}

}  // namespace ap
