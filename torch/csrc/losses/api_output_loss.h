// What losses over the scores of a vocabulary share (output_loss.cc), for those whose chunks are computed in Go
// (score_loss.go).
#pragma once

#include "border/api_types.h"

// Refuses operands that make no sense. kept are the targets that count, on the device; places are their positions, NULL
// where all count; dtype is that of the products. prior, bias and shift may be NULL.
AP_API ap_error ap_counted(ap_tensor hidden, ap_tensor prior, ap_tensor weight, ap_tensor bias, ap_tensor targets, ap_tensor shift,
                           int64_t ignore, ap_tensor *places, ap_tensor *kept, int *dtype);
AP_API ap_error ap_add_product(ap_tensor sum, ap_tensor g, ap_tensor h);          // sum [V,D] += g [R,V]^T h [R,D], in place
AP_API int64_t ap_chunk_rows(int64_t rows, int64_t bytes, bool on_cpu);  // softmax_row.h
