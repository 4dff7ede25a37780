// Which of libtorch's forms of attention the device takes: the one that a backend of its own brings, one operator as on
// a GPU.
#include <ATen/SDPBackend.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>

namespace at::native {

static int64_t checked_choice(const Tensor &, const Tensor &, const Tensor &, const std::optional<Tensor> &, double, bool, std::optional<double>, bool) {
  return static_cast<int64_t>(at::SDPBackend::overrideable);
}

REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &checked_choice)

}  // namespace at::native
