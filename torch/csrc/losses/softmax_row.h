// A row of logits: what the losses of a softmax and of a mixture of softmaxes
// share.
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "devices/vector_exp.h"

namespace ap {

// The rows that are worked on at a time, of `rows` with `bytes` of logits each: on the CPU as its cache has
// room, on an accelerator those that make half a gigabyte.
int64_t chunk_rows(int64_t rows, int64_t bytes, bool on_cpu);

// A weighted term that counts nothing is left out: 0 times infinity is no number.
inline double weighted(double weight, double x) { return weight == 0 ? 0 : weight * x; }

// exp of a number that is not above 0.
inline float exp_of(float x) { return exp_nonpositive(x); }
inline double exp_of(double x) { return std::exp(x); }

// The largest logit of a row, sum_j exp(logit_j - top), sum_j (logit_j - top).
struct Sums {
  double top, total, plain;
};

// Sums over a row; with keep the row is turned into its exponentials.
Sums exponentials(float *row, int64_t V, bool keep);
Sums exponentials(double *row, int64_t V, bool keep);

// row_j = row_j * factor - less
void scale_and_lower(float *row, int64_t V, float factor, float less);
void scale_and_lower(double *row, int64_t V, double factor, double less);

// A row of bfloat16 as floats, and back, rounded to the nearest with ties to the even one.
void widen(const at::BFloat16 *row, int64_t V, float *wide);
void round_row(const float *wide, int64_t V, at::BFloat16 *row);

// sum_j += row_j
void add_row(const at::BFloat16 *row, int64_t V, float *sum);

// Rows of logits [R,V] that a thread works on in type T, some at a time. Those of bfloat16 it has as a copy, which
// stays in its cache: a whole chunk as floats would be written and read once more.
template <class T>
class LogitRows {
 public:
  explicit LogitRows(at::Tensor &logits_RV) : V_(logits_RV.size(1)) {
    if (logits_RV.scalar_type() == at::kBFloat16)
      stored_ = logits_RV.mutable_data_ptr<at::BFloat16>();
    else
      rows_ = logits_RV.mutable_data_ptr<T>();
  }

  // Rows [first, first + n) to work on, until the next call.
  T *take(int64_t first, int64_t n) {
    if (rows_) return rows_ + first * V_;
    copy_.resize(n * V_);
    if constexpr (std::is_same_v<T, float>) widen(stored_ + first * V_, n * V_, copy_.data());
    return copy_.data();
  }

  // Writes back what take gave.
  void keep(int64_t first, int64_t n) {
    if constexpr (std::is_same_v<T, float>)
      if (stored_) round_row(copy_.data(), n * V_, stored_ + first * V_);
  }

 private:
  int64_t V_;
  T *rows_ = nullptr;
  at::BFloat16 *stored_ = nullptr;
  std::vector<T> copy_;
};

// The clean nll of a target from the one that it has with its logit lowered by shift.
double without_shift(double nll, double shift);

}  // namespace ap
