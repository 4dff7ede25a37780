// An exponential that compilers vectorise, and a softmax made with it.
#pragma once

#include <cstdint>
#include <cstring>

namespace ap {

// exp for the arguments of a softmax (x <= 0), to about 1e-7: 2^n times a
// polynomial on [-ln2/2, ln2/2].
inline float exp_nonpositive(float x) {
  x = x < -87.0f ? -87.0f : x;
  const float shifted = x * 1.44269504088896f + 12582912.0f;  // rounds to the nearest integer in the low bits
  const float n = shifted - 12582912.0f;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  uint32_t bits;  // without a sign: a shift of negative numbers is not defined in C++17
  std::memcpy(&bits, &p, 4);
  uint32_t shift;
  std::memcpy(&shift, &shifted, 4);
  bits += (shift - 0x4B400000u) << 23;
  std::memcpy(&p, &bits, 4);
  return p;
}

// Numbers that are summed as floats, before the sum goes on as a double. In eight lanes of floats 268,000 equal numbers
// are wrong by up to 4e-4 of their sum, and 2,000,000 by up to 4e-3.
constexpr int64_t kSummed = 4096;

// weights_n = softmax(weights_n), for n > 0.
__attribute__((always_inline)) inline void softmax_in_place(float *weights, int64_t n) {
  float top = weights[0], total = 0;
#pragma omp simd reduction(max : top)
  for (int64_t j = 1; j < n; ++j) top = weights[j] > top ? weights[j] : top;
#pragma omp simd reduction(+ : total)
  for (int64_t j = 0; j < n; ++j) {
    weights[j] = exp_nonpositive(weights[j] - top);
    total += weights[j];
  }
  const float factor = 1 / total;
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) weights[j] *= factor;
}

}  // namespace ap
