// Layers that libtorch computes in one call.
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>

#include "api_layers.h"
#include "border/common.h"
#include "products/thin.h"

namespace ap {
namespace {

// A few rows without a gradient, as when a text is written word by word.
bool is_thin(const at::Tensor &x, const at::Tensor &weight, const at::Tensor &bias) {
  const auto float32 = [](const at::Tensor &y) { return y.is_cpu() && y.scalar_type() == at::kFloat; };
  if (!float32(x) || !float32(weight) || (bias.defined() && !float32(bias))) return false;
  if (at::autocast::is_autocast_enabled(at::kCPU) || x.dim() == 0 || weight.dim() != 2 || !weight.is_contiguous())
    return false;
  if (at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad())) return false;
  const int64_t K = x.size(-1);
  return K > 0 && K == weight.size(1) && x.numel() <= kThin * K;
}

at::Tensor thin_linear(const at::Tensor &x, const at::Tensor &weight) {
  at::DimVector shape(x.sizes());
  shape.back() = weight.size(0);
  return thin_product(x.reshape({-1, x.size(-1)}).contiguous(), weight).view(shape);
}

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" {

ap_error ap_linear(ap_tensor x, ap_tensor weight, ap_tensor bias, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &w = get(weight), b = bias ? get(bias) : at::Tensor();
    // libtorch takes whatever can be broadcast to the result.
    TORCH_CHECK(!bias || (b.dim() == 1 && w.dim() == 2 && b.size(0) == w.size(0)), "a bias of shape ", b.sizes(),
                " does not fit a weight of shape ", w.sizes());
    if (is_thin(get(x), w, b)) {
      const at::Tensor y = thin_linear(get(x), w);
      *out = wrap(bias ? y + b : y);
    } else
      *out = wrap(at::linear(get(x), w, b));
  });
}

ap_error ap_product_operand(ap_tensor x, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &X = get(x);
    const auto device = X.device().type();
    const bool cast = at::autocast::is_autocast_enabled(device) && X.scalar_type() == at::kFloat;
    *out = wrap(cast ? X.to(at::autocast::get_autocast_dtype(device)) : X);
  });
}

ap_error ap_embedding(ap_tensor weight, ap_tensor ids, int64_t padding, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &w = get(weight), &given = get(ids);
    TORCH_CHECK(given.scalar_type() == at::kLong, "ids must be int64, not ", given.scalar_type());
    // A GPU that meets an id beyond the table ends all work of the process on it. On the host no device has to be
    // waited for.
    if (given.is_cpu()) check_range(given, w.size(0), "an id", "the table");
    *out = wrap(at::embedding(w, moved(given, w.device(), at::kLong), padding));
  });
}

ap_error ap_layer_norm(ap_tensor x, ap_tensor gain, ap_tensor bias, double eps, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &g = get(gain);
    *out = wrap(at::layer_norm(get(x), g.sizes(), g, get(bias), eps));
  });
}

}  // extern "C"
