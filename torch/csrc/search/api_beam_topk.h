// The best continuations of beams: float32 on the CPU, no gradients (beam_topk.cc).
#pragma once

#include "border/api_types.h"

// Without a weight, x are log-probabilities. end_rule by sentence: 0 free, 1 no end, 2 nothing but the end. Sentence b
// may take the ids of allowed between allowed_starts[b] and allowed_starts[b+1], which rise, and the softmax is over
// them; where allowed_starts is NULL it may take all. out_wanted receives the log-probabilities of the ids of wanted,
// which lie between wanted_starts[r] and wanted_starts[r+1] for row r; where wanted_starts is NULL none are.
AP_API ap_error ap_beam_topk(ap_tensor x, ap_tensor weight, ap_tensor bias, const double *scores, int64_t sentences, int64_t k, int64_t pad,
                             int64_t end, const uint8_t *end_rule, const int32_t *banned, const int64_t *banned_starts, const int32_t *wanted,
                             const int64_t *wanted_starts, const int32_t *allowed, const int64_t *allowed_starts, double *out_scores,
                             double *out_log_probs, int32_t *out_rows, int32_t *out_ids, double *out_wanted);
