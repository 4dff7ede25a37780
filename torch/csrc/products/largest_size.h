// For loops that give a row of numbers eight bits. Each file that includes this compiles it for its own instructions.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace ap {
namespace {

// The largest size in x; no number where x holds one that is none, or infinite.
__attribute__((always_inline)) inline float largest_size(const float *x, int64_t n) {
  float most = 0, wrong = 0;
#pragma omp simd reduction(max : most) reduction(+ : wrong)
  for (int64_t i = 0; i < n; ++i) {
    const float size = std::fabs(x[i]);
    most = size > most ? size : most;
    wrong += size * 0.0f;
  }
  return wrong != wrong ? std::numeric_limits<float>::quiet_NaN() : most;
}

}  // namespace
}  // namespace ap
