// Penalties on the orthogonality of columns (orthogonality.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_orthogonality(ap_tensor x, ap_tensor vector, double scale, double frobenius, double spectral, int64_t iterations,
                                 ap_tensor *out);  // vector may be NULL, is turned in place
AP_API ap_error ap_gram(ap_tensor x, ap_tensor *out);
