// What the rows of a matrix pay for pointing the same way (cosine_penalty.cc).
#pragma once

#include "border/api_types.h"

// scale and basis are both NULL, or neither.
AP_API ap_error ap_cosine_penalty(ap_tensor rows, ap_tensor scale, ap_tensor basis, double weight, ap_tensor *out);
