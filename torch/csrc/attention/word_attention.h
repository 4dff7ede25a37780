// Attention over the words of one source, each a key and a value, which stay where they
// are for many queries.
//
// Legend: R queries, W words, D width.
#pragma once

#include <cstdint>

namespace ap {

// weights = softmax(query keys^T) and out = weights values, for W > 0.
void attend_words(const float *query_RD, const float *keys_WD, const float *values_WD, int64_t R, int64_t W, int64_t D, float *weights_RW, float *out_RD);

// From the gradient of one query's out: those of its scores before the softmax, and of
// itself.
void attend_words_back(const float *gout_D, const float *keys_WD, const float *values_WD, const float *weights_W, int64_t W, int64_t D, float *gscores_W,
                       float *gquery_D);

}  // namespace ap
