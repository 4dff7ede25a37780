// What regularises recurrent networks, in few operators on an accelerator (regularisation.cc).
#pragma once

#include "border/api_types.h"

// x [T,B,D] times one mask [1,B,D] for all steps.
AP_API ap_error ap_locked_dropout(ap_tensor x, double p, uint64_t seed, uint64_t offset, ap_tensor *out);
// The mean square of x, or of its changes along the first dimension.
AP_API ap_error ap_mean_square(ap_tensor x, bool change, ap_tensor *out);
