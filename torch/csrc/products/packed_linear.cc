// Products with weights that were laid out beforehand, by oneDNN: its kernels are
// generated for the instructions the processor has, whoever made it, and it keeps
// a weight in the blocks that they read.
#include "packed_linear.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include "api_packed_linear.h"
#include "border/common.h"

namespace ap {
namespace {

using Pointwise = at::Tensor(const at::Tensor &, const at::Tensor &, const std::optional<at::Tensor> &, std::string_view,
                             c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);
using Reorder = at::Tensor(const at::Tensor &, std::optional<int64_t>);

template <class Signature>
c10::TypedOperatorHandle<Signature> find(const char *name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

constexpr int64_t usual_rows = 96;  // a layout that suits products with about this many rows

}  // namespace

at::Tensor pack_weight(const at::Tensor &weight_OI) {
  TORCH_CHECK(weight_OI.dim() == 2 && weight_OI.is_cpu() && weight_OI.scalar_type() == at::kFloat,
              "only float32 matrices on the CPU are packed, not ", weight_OI.toString(), " of shape ", weight_OI.sizes());
  at::NoGradGuard no_grad;
  const at::Tensor w = weight_OI.detach().contiguous();
  if (!at::globalContext().hasMKLDNN()) return w.clone();
  static const auto reorder = find<Reorder>("mkldnn::_reorder_linear_weight");
  return reorder.call(w, usual_rows);
}

at::Tensor packed_linear(const at::Tensor &x_NI, const at::Tensor &weight, const at::Tensor &bias_O, bool relu) {
  TORCH_CHECK(x_NI.dim() > 0 && x_NI.size(-1) == weight.size(1) && (!bias_O.defined() || bias_O.numel() == weight.size(0)), "an input of shape ",
              x_NI.sizes(), " does not fit a weight of shape ", weight.sizes());
  const at::Tensor bias = bias_O.defined() ? bias_O.contiguous() : bias_O;  // _linear_pointwise reads it so, whatever its strides
  if (is_int8(weight)) return int8_linear(x_NI, weight, bias, relu);
  if (!at::globalContext().hasMKLDNN()) {
    at::Tensor y = bias.defined() ? at::linear(x_NI, weight, bias) : at::linear(x_NI, weight);
    return relu ? y.relu_() : y;
  }
  static const auto pointwise = find<Pointwise>("mkldnn::_linear_pointwise");
  return pointwise.call(x_NI, weight, bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt, relu ? "relu" : "none",
                        c10::List<std::optional<at::Scalar>>(), "");
}

}  // namespace ap

using namespace ap;

extern "C" ap_error ap_pack_weight(ap_tensor weight, ap_tensor *out) {
  return guard([&] { *out = wrap(pack_weight(get(weight))); });
}

extern "C" ap_error ap_packed_linear(ap_tensor x, ap_tensor weight, ap_tensor bias, bool relu, ap_tensor *out) {
  return guard([&] {
    at::AutoDispatchBelowADInplaceOrView no_grad;
    *out = wrap(packed_linear(get(x), get(weight), bias ? get(bias) : at::Tensor(), relu));
  });
}
