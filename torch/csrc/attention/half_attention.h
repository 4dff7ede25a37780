// Scaled dot-product attention of one head in bfloat16 (half_attention.cc), for processors with instructions for it.
//
// Legend: T queries, S keys, K width of the head.
#pragma once

#include <cstdint>

namespace ap {

// K is a multiple of it.
constexpr int64_t kHalfWidths = 32;

// Rows of K numbers in bfloat16, which lie at multiples of 4 bytes.
struct HalfRows {
  uint16_t *data;
  int64_t step;  // from row to row, in numbers
};

struct HalfHead {
  HalfRows q_TK, k_SK, v_SK;
  const bool *mask_S;  // true where a key takes part; null where all do
  int64_t T, S, K;
  bool causal;  // a query sees the keys up to its own place
};

// How many floats of working memory an attention needs, and its backward pass.
int64_t half_attention_room(const HalfHead &head);
int64_t half_attention_back_room(const HalfHead &head);

// softmax(q k^T / sqrt(K)) v, and by query the logarithm of the sum of exponentials. A query that sees no key gets
// zeros.
void half_attention(const HalfHead &head, HalfRows out_TK, float *logsumexp_T, float *room);

// The gradients from what half_attention gave and the gradient of its result.
void half_attention_back(const HalfHead &head, HalfRows out_TK, const float *logsumexp_T, HalfRows gout_TK, HalfRows gq_TK, HalfRows gk_SK,
                         HalfRows gv_SK, float *room);

}  // namespace ap
