// A step of an attentional decoder in search (attentional_step.cc).
#pragma once

#include "border/api_types.h"

// weights: for each layer a packed matrix [4D,inputs+D] and a bias [4D], then W_c's half for states, packed [D,D].
// words are [R,E] and state [R,(2L+1)D]: o, then each layer's h, then each layer's c. keys and values are [M,D], of
// which sentence i has lengths[i] rows from starts[i] on. next is the state afterwards, out [R,D] its o; attention is
// [R,longest], made where it is wanted.
AP_API ap_error ap_attentional_step(ap_tensor words, ap_tensor state, ap_tensor *weights, int layers, ap_tensor keys, ap_tensor values,
                                    const int32_t *starts, const int32_t *lengths, int sentences, int longest, bool want_attention, ap_tensor *out,
                                    ap_tensor *next, ap_tensor *attention);
