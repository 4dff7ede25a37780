// Scaled dot-product attention (dot_product.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_attention(ap_tensor q, ap_tensor k, ap_tensor v, ap_tensor mask, bool causal, ap_tensor *out);  // mask may be NULL
