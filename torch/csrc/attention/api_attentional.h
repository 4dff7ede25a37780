// The loop over time of an attentional decoder (attentional.cc).
#pragma once

#include "border/api_types.h"

// All operands are float32 tensors on the CPU, whose shapes fit: words [T,B,E], memory [B,S,D], query [D,D], mix
// [D,2D], and six for each layer: weight_ih, weight_hh, bias_ih, bias_hh, h and c. A mask for each layer, [T or
// 1,B,D] or NULL, multiplies what the layer gives to the next one; the last is that of attentional states. lengths
// holds B entries, or is NULL where sources have no padding. out is [T,B,D].
AP_API ap_error ap_attentional(ap_tensor *operands, int layers, ap_tensor *masks, const int64_t *lengths, ap_tensor *out);
