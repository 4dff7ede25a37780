// The instruction set in use, and which kernels have used it (isa.cc).
#pragma once

#include "border/api_types.h"

AP_API const char *ap_isa(void);           // "avx2" or "avx512"
AP_API const char *ap_libtorch_isa(void);  // what libtorch's own kernels use, in its words
AP_API bool ap_has_avx2(void);             // with FMA and the rest of x86-64-v3, on this processor
AP_API bool ap_has_avx512(void);           // all of x86-64-v4
AP_API bool ap_has_bfloat16(void);         // instructions for bfloat16 products, in the set in use

// The names of up to `room` of our kernels, and whether each has been called; returns how many there are.
AP_API int ap_kernels(const char **names, bool *called, int room);
