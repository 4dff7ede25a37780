// Residual connection with normalisation (residual_norm.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_residual_norm(ap_tensor x, ap_tensor residual, ap_tensor gain, ap_tensor bias, double eps, double p, uint64_t seed,
                                 uint64_t offset, ap_tensor *out);
