// A value whose gradients are given: the one node of autograd for losses that compute their gradients in the forward pass.
#include "given_gradients.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include "api_autograd.h"
#include "common.h"

namespace ap {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct GivenGradients : torch::autograd::Function<GivenGradients> {
  static at::Tensor forward(AutogradContext *ctx, const at::Tensor &value, at::TensorList, const c10::List<at::Tensor> *gradients) {
    ctx->saved_data["gradients"] = *gradients;
    return value.detach();
  }

  static variable_list backward(AutogradContext *ctx, variable_list incoming) {
    TORCH_CHECK(!ctx->saved_data.empty(), "the gradients of this loss were used already");
    const c10::List<at::Tensor> gradients = ctx->saved_data["gradients"].toTensorList();
    ctx->saved_data.clear();  // so that they are handed over, not copied
    variable_list results{{}}, alike;  // none for the value
    for (const at::Tensor &gradient : gradients) {
      // On a device those of one type take one launch together.
      const bool together = !gradient.is_cpu() && gradient.scalar_type() == incoming[0].scalar_type();
      if (together) alike.push_back(gradient);
      results.push_back(together ? gradient : times_incoming(gradient, incoming[0]));
    }
    if (!alike.empty()) at::_foreach_mul_(alike, incoming[0]);
    results.emplace_back();  // and none for the list
    return results;
  }
};

}  // namespace

at::Tensor with_gradients(const at::Tensor &value, const variable_list &operands, variable_list gradients) {
  if (operands.empty()) return value;
  for (size_t i = 0; i < operands.size(); ++i) {
    TORCH_CHECK(operands[i].sizes() == gradients[i].sizes(), "an operand of shape ", operands[i].sizes(), " does not fit a gradient of shape ",
                gradients[i].sizes());
    gradients[i] = gradients[i].to(operands[i].scalar_type());
  }
  const c10::List<at::Tensor> list{at::ArrayRef<at::Tensor>(gradients)};
  gradients.clear();
  return GivenGradients::apply(value, at::TensorList(operands), &list);
}

}  // namespace ap

using namespace ap;

extern "C" ap_error ap_with_gradients(ap_tensor value, const ap_tensor *operands, const ap_tensor *gradients, int n, ap_tensor *out) {
  return guard([&] {
    variable_list xs, gs;
    for (int i = 0; i < n; ++i) xs.push_back(get(operands[i])), gs.push_back(get(gradients[i]).detach());
    *out = wrap(with_gradients(get(value), xs, std::move(gs)));
  });
}
