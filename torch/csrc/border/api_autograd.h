// Autograd (autograd.cc).
#pragma once

#include "api_types.h"

AP_API ap_error ap_set_requires_grad(ap_tensor x, bool value);  // of a leaf
AP_API ap_error ap_parameter(ap_tensor x);  // makes x, in place, a row-major leaf that requires a gradient
AP_API bool ap_requires_grad(ap_tensor x);
AP_API ap_error ap_backward(ap_tensor loss);
AP_API ap_error ap_backward_with(ap_tensor output, ap_tensor gradient);
AP_API ap_error ap_gradients(ap_tensor x, const ap_tensor *operands, int n, ap_tensor *out);  // out[i] is NULL where x does not depend on operand i
AP_API ap_error ap_with_gradients(ap_tensor value, const ap_tensor *operands, const ap_tensor *gradients, int n, ap_tensor *out);  // given_gradients.cc
AP_API ap_error ap_grad(ap_tensor x, ap_tensor *out);  // *out is NULL where x has no gradient
AP_API ap_error ap_zero_grad(ap_tensor *xs, int n);    // drops the gradients
AP_API ap_error ap_detach(ap_tensor x, ap_tensor *out);
AP_API bool ap_set_grad_enabled(bool value);           // returns the value before
AP_API ap_error ap_set_autocast(bool enabled, const char *device, bool *before);
