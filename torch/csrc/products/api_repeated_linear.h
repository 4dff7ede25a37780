// Products with a matrix that every step of a recurrence multiplies by (repeated_linear.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_repeated(ap_tensor weight, ap_tensor *out);
AP_API ap_error ap_repeated_linear(ap_tensor x, ap_tensor matrix, ap_tensor addend, ap_tensor *out);  // addend may be NULL
