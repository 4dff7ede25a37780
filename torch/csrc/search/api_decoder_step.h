// A decoder's step: float32 on the CPU, no gradients (decoder_step.cc).
#pragma once

#include "border/api_types.h"

// weights: 18 tensors a layer, in the order of models/decoder.go. last_norm: gain and bias, NULL for post-norm.
// history: keys and values [layers, rows, 2 width] of each step before; ancestors [hypotheses, steps]: rows of them.
AP_API ap_error ap_decoder_step(ap_tensor x, ap_tensor *weights, int layers, ap_tensor *last_norm, int heads, double eps, ap_tensor *history,
                                int steps, const int32_t *ancestors, ap_tensor *memory, const int32_t *starts, const int32_t *lengths,
                                int sentences, int longest, bool want_attention, ap_tensor *hidden, ap_tensor *kv, ap_tensor *attention);
