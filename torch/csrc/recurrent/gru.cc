// Legend: T time steps, B columns, I input width, H width.
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>

#include <array>

#include "api_gru.h"
#include "border/common.h"
#include "flat_weights.h"

using namespace ap;

extern "C" ap_error ap_gru(ap_tensor x, ap_tensor h, ap_tensor weight_ih, ap_tensor weight_hh, ap_tensor bias_ih, ap_tensor bias_hh, ap_tensor *out,
                           ap_tensor *h_n) {
  return guard([&] {
    const at::Tensor &x_TBI = get(x), &h_BH = get(h), &w_ih = get(weight_ih), &w_hh = get(weight_hh), &b_ih = get(bias_ih), &b_hh = get(bias_hh);
    TORCH_CHECK(x_TBI.dim() == 3 && w_hh.dim() == 2 && w_ih.dim() == 2 && w_ih.size(1) == x_TBI.size(2) && w_ih.size(0) == 3 * w_hh.size(1),
                "weights of shapes ", w_ih.sizes(), " and ", w_hh.sizes(), " do not fit an input of shape ", x_TBI.sizes());
    const std::array<int64_t, 2> state = {x_TBI.size(1), w_hh.size(1)};
    TORCH_CHECK(h_BH.sizes() == at::IntArrayRef(state), "a state of shape ", h_BH.sizes(), " does not fit ", state[0], " columns of width ", state[1]);
    // Rounded at each step, a state would lose what it carries.
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const auto [out_TBH, last_1BH] = at::gru(x_TBI, h_BH.contiguous().unsqueeze(0), flat_weights(w_ih, w_hh, b_ih, b_hh), true, 1, 0.0, true, false, false);
    *out = wrap(out_TBH);
    *h_n = wrap(last_1BH.squeeze(0));
  });
}
