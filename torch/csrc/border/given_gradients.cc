// A value whose gradients are given: for losses that compute their gradients in the forward pass.
#include "given_gradients.h"

#include <ATen/Functions.h>

#include "api_autograd.h"
#include "common.h"
#include "operator.h"

namespace ap {
namespace {

class GivenGradients : public Operator {
 public:
  GivenGradients(const at::Tensor &value, Tensors gradients, double factor)
      : value_(value.detach()), gradients_(std::move(gradients)), factor_(factor) {}

  Tensors forward(const Tensors &) override { return {std::move(value_)}; }

  Tensors backward(const Tensors &above) override {
    TORCH_CHECK(!gradients_.empty(), "the gradients of this loss were used already");
    const Tensors gradients = std::exchange(gradients_, {});  // so that they are handed over, not copied
    Tensors results, alike;
    const at::Tensor incoming = factor_ == 1 ? above[0] : above[0] * factor_;
    for (const at::Tensor &gradient : gradients) {
      // On a device those of one type take one launch together.
      const bool together = !gradient.is_cpu() && gradient.scalar_type() == incoming.scalar_type();
      if (together) alike.push_back(gradient);
      results.push_back(together ? gradient : times_incoming(gradient, incoming));
    }
    if (!alike.empty()) at::_foreach_mul_(alike, incoming);
    return results;
  }

 private:
  at::Tensor value_;
  Tensors gradients_;
  double factor_;
};

}  // namespace

at::Tensor with_gradients(const at::Tensor &value, const Tensors &operands, Tensors gradients, double factor) {
  if (operands.empty()) return value;
  for (size_t i = 0; i < operands.size(); ++i) {
    TORCH_CHECK(operands[i].sizes() == gradients[i].sizes(), "an operand of shape ", operands[i].sizes(), " does not fit a gradient of shape ",
                gradients[i].sizes());
    gradients[i] = gradients[i].to(operands[i].scalar_type());
  }
  return recorded<GivenGradients>(operands, value, std::move(gradients), factor)[0];
}

}  // namespace ap

using namespace ap;

extern "C" ap_error ap_with_gradients(ap_tensor value, const ap_tensor *operands, const ap_tensor *gradients, int n, ap_tensor *out) {
  return guard([&] {
    Tensors xs, gs;
    for (int i = 0; i < n; ++i) xs.push_back(get(operands[i])), gs.push_back(get(gradients[i]).detach());
    *out = wrap(with_gradients(get(value), xs, std::move(gs)));
  });
}
