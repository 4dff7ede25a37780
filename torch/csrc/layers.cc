// Layers that libtorch computes in one call.
#include <ATen/Functions.h>

#include "api_layers.h"
#include "common.h"

using namespace ap;

extern "C" {

ap_error ap_linear(ap_tensor x, ap_tensor weight, ap_tensor bias, ap_tensor *out) {
  return guard([&] {
    if (bias)
      *out = wrap(at::linear(get(x), get(weight), get(bias)));
    else
      *out = wrap(at::linear(get(x), get(weight)));
  });
}

ap_error ap_embedding(ap_tensor weight, ap_tensor ids, int64_t padding, ap_tensor *out) {
  return guard([&] { *out = wrap(at::embedding(get(weight), get(ids), padding)); });
}

ap_error ap_layer_norm(ap_tensor x, ap_tensor gain, ap_tensor bias, double eps, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &g = get(gain);
    *out = wrap(at::layer_norm(get(x), g.sizes(), g, get(bias), eps));
  });
}

ap_error ap_attention(ap_tensor q, ap_tensor k, ap_tensor v, ap_tensor mask, bool causal, ap_tensor *out) {
  return guard([&] {
    TORCH_CHECK(!mask || !causal, "a mask and causality exclude each other: let the mask say both");
    std::optional<at::Tensor> m;
    if (mask) m = get(mask);
    *out = wrap(at::scaled_dot_product_attention(get(q), get(k), get(v), m, 0.0, causal));
  });
}

}  // extern "C"
