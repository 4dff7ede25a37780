#include "flat_weights.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

namespace ap {
namespace {

// Views made by differentiable operators would each set a gradient of the whole buffer to 0 and add its own part to it.
struct FlatWeights : torch::autograd::Function<FlatWeights> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext *, const at::Tensor &w_ih, const at::Tensor &w_hh, const at::Tensor &b_ih,
                                                const at::Tensor &b_hh) {
    const std::array<at::Tensor, 4> weights = {w_ih, w_hh, b_ih, b_hh};
    const at::Tensor buffer = at::cat({w_ih.reshape(-1), w_hh.reshape(-1), b_ih, b_hh});
    torch::autograd::variable_list views;
    int64_t place = 0;
    for (const at::Tensor &w : weights) {
      views.push_back(buffer.narrow(0, place, w.numel()).view(w.sizes()));
      place += w.numel();
    }
    return views;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *, torch::autograd::variable_list grads) { return grads; }
};

}  // namespace

std::array<at::Tensor, 4> flat_weights(const at::Tensor &w_ih, const at::Tensor &w_hh, const at::Tensor &b_ih, const at::Tensor &b_hh) {
  if (w_ih.is_cpu()) return {w_ih, w_hh, b_ih, b_hh};
  const torch::autograd::variable_list flat = FlatWeights::apply(w_ih, w_hh, b_ih, b_hh);
  return {flat[0], flat[1], flat[2], flat[3]};
}

}  // namespace ap
