// A row of logits: what the losses of a softmax and of a mixture of softmaxes
// share.
#pragma once

#include <cmath>
#include <cstdint>

#include "devices/vector_exp.h"

namespace ap {

// The rows that are worked on at a time, of so many with that many bytes of logits each: on the CPU as its cache has it, on
// an accelerator as many as make half a gigabyte.
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

// The clean nll of a target from the one that it has with its logit lowered by shift.
double without_shift(double nll, double shift);

}  // namespace ap
