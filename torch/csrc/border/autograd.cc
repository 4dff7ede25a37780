// Gradients: recording, running and reading them.
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "api_autograd.h"
#include "common.h"

using namespace ap;

extern "C" {

ap_error ap_set_requires_grad(ap_tensor x, bool value) {
  return guard([&] {
    TORCH_CHECK(get(x).is_leaf(), "the tensor was computed from others that require a gradient: only a leaf can be told to, so detach it first");
    get(x).set_requires_grad(value);
  });
}

ap_error ap_parameter(ap_tensor x) {
  return guard([&] {
    at::Tensor &t = get(x);
    TORCH_CHECK(t.is_leaf(), "the tensor was computed from others that require a gradient: detach it first");
    // Optimizers walk through weights, gradients and moments as they lie in memory.
    if (!t.is_contiguous()) t = t.detach().contiguous();
    t.set_requires_grad(true);
  });
}

bool ap_requires_grad(ap_tensor x) { return get(x).requires_grad(); }

ap_error ap_backward(ap_tensor loss) {
  return guard([&] {
    TORCH_CHECK(get(loss).numel() == 1, "backward needs a loss of one element, this one has shape ", get(loss).sizes());
    torch::autograd::backward({get(loss)}, {});
  });
}

ap_error ap_backward_with(ap_tensor output, ap_tensor gradient) {
  return guard([&] { torch::autograd::backward({get(output)}, {get(gradient)}); });
}

ap_error ap_gradients(ap_tensor x, const ap_tensor *operands, int n, ap_tensor *out) {
  return guard([&] {
    std::fill(out, out + n, nullptr);
    if (!get(x).requires_grad() || n == 0) return;
    torch::autograd::variable_list of;
    for (int i = 0; i < n; ++i) of.push_back(get(operands[i]));
    const auto gradients = torch::autograd::grad({get(x)}, of, {}, std::nullopt, false, /*allow_unused=*/true);
    for (int i = 0; i < n; ++i)
      if (gradients[i].defined()) out[i] = wrap(gradients[i]);
  });
}

ap_error ap_grad(ap_tensor x, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &g = get(x).grad();
    *out = g.defined() ? wrap(g) : nullptr;
  });
}

ap_error ap_zero_grad(ap_tensor *xs, int n) {
  return guard([&] {
    for (int i = 0; i < n; ++i) get(xs[i]).mutable_grad() = at::Tensor();
  });
}

ap_error ap_detach(ap_tensor x, ap_tensor *out) {
  return guard([&] { *out = wrap(get(x).detach()); });
}

bool ap_set_grad_enabled(bool value) {
  const bool before = at::GradMode::is_enabled();
  at::GradMode::set_enabled(value);
  if (value != before) at::autocast::clear_cache();
  return before;
}

ap_error ap_set_autocast(bool enabled, const char *device, bool *before) {
  return guard([&] {
    const auto type = at::Device(device).type();
    *before = at::autocast::is_autocast_enabled(type);
    if (enabled) at::autocast::set_autocast_dtype(type, at::kBFloat16);
    at::autocast::set_autocast_enabled(type, enabled);
    // A converted weight is kept for its next use, which must not see it after an
    // update, nor without history because its first use was made without gradients.
    at::autocast::clear_cache();
  });
}

}  // extern "C"
