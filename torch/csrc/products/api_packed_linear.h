// Products with packed weights: float32 on the CPU, no gradients (packed_linear.cc, int8_linear.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_pack_weight(ap_tensor weight, ap_tensor *out);  // an opaque layout
AP_API ap_error ap_pack_int8(ap_tensor weight, ap_tensor *out);    // the same with eight bits for each number
AP_API ap_error ap_packed_linear(ap_tensor x, ap_tensor weight, ap_tensor bias, bool relu, ap_tensor *out);  // bias may be NULL
