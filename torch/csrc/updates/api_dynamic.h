// Dynamic evaluation (dynamic.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_add_squares(ap_tensor *sums, ap_tensor *params, int n);
AP_API ap_error ap_dynamic_step(ap_tensor *params, ap_tensor *start, ap_tensor *rms, int n, double rate, double decay, double mean, double eps);
