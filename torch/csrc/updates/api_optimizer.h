// Optimizers (optimizer.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_adam(ap_tensor *params, ap_tensor *m, ap_tensor *v, int n, double rate, double beta1, double beta2, double eps,
                        double decay, bool decoupled, int64_t step);
AP_API ap_error ap_sgd(ap_tensor *params, int n, double rate, double decay);
AP_API ap_error ap_clip(ap_tensor *params, int n, double limit, ap_tensor *norm);  // limit <= 0 measures only; a norm in float64
AP_API ap_error ap_lerp(ap_tensor *average, ap_tensor *params, int n, double weight);
