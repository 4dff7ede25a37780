// Parts of a tensor (split.cc).
#pragma once

#include "border/api_types.h"

// Cuts a dimension into n parts of the given sizes, which fill out. Unlike n narrowed tensors, they share
// one gradient.
AP_API ap_error ap_split(ap_tensor x, int dim, const int64_t *sizes, int n, ap_tensor *out);
