#include "word_attention.h"

#include <algorithm>

#include "devices/isa.h"
#include "products/thin.h"
#include "devices/vector_exp.h"

namespace ap {
namespace {

AP_KERNEL(void, softmax_words, float *scores, int64_t n) { softmax_in_place(scores, n); }

// Turns the gradient of softmax's probabilities into that of the scores.
AP_KERNEL(void, softmax_words_back, const float *weights, float *gradient, int64_t n) {
  float mean = 0;
#pragma omp simd reduction(+ : mean)
  for (int64_t j = 0; j < n; ++j) mean += weights[j] * gradient[j];
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) gradient[j] = weights[j] * (gradient[j] - mean);
}

}  // namespace

void attend_words(const float *query_RD, const float *keys_WD, const float *values_WD, int64_t R, int64_t W, int64_t D, float *weights_RW, float *out_RD) {
  std::fill_n(weights_RW, R * W, 0.0f);
  std::fill_n(out_RD, R * D, 0.0f);
  add_thin_dots(query_RD, keys_WD, D, weights_RW, W, R, W);
  for (int64_t r = 0; r < R; ++r) softmax_words(weights_RW + r * W, W);
  add_thin_sums(weights_RW, values_WD, D, W, out_RD, D, R, D);
}

void attend_words_back(const float *gout_D, const float *keys_WD, const float *values_WD, const float *weights_W, int64_t W, int64_t D, float *gscores_W,
                       float *gquery_D) {
  std::fill_n(gscores_W, W, 0.0f);
  std::fill_n(gquery_D, D, 0.0f);
  add_thin_dots(gout_D, values_WD, D, gscores_W, W, 1, W);
  softmax_words_back(weights_W, gscores_W, W);
  add_thin_sums(gscores_W, keys_WD, D, W, gquery_D, D, 1, D);
}

}  // namespace ap
