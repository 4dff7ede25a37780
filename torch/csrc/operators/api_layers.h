// Layers (layers.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_linear(ap_tensor x, ap_tensor weight, ap_tensor bias, ap_tensor *out);  // bias may be NULL
AP_API ap_error ap_product_operand(ap_tensor x, ap_tensor *out);
AP_API ap_error ap_embedding(ap_tensor weight, ap_tensor ids, int64_t padding, ap_tensor *out);
AP_API ap_error ap_layer_norm(ap_tensor x, ap_tensor gain, ap_tensor bias, double eps, ap_tensor *out);
