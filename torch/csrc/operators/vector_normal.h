// Normal draws that compilers vectorise, for noise.
#pragma once

#include <cstdint>
#include <cstring>

#include "random.h"

namespace ap {

// The natural logarithm of a normal number x > 0, to about 1e-7: that of the
// mantissa, in [sqrt(1/2), sqrt(2)), by a polynomial, and the exponent's.
inline float log_positive(float x) {
  int32_t bits;
  std::memcpy(&bits, &x, 4);
  const int32_t exponent = (bits - 0x3F3504F3) >> 23;
  bits -= exponent * (1 << 23);
  float m;
  std::memcpy(&m, &bits, 4);
  m -= 1.0f;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float square = m * m;
  return m + (p * m * square - 0.5f * square) + exponent * 0.69314718056f;
}

// The cosine of 2 pi t for t in [-1/2, 1/2], to about 1e-7: a sine of at most a
// quarter turn, by its series.
inline float cos_turns(float t) {
  const float x = (0.25f - (t < 0 ? -t : t)) * 6.28318530718f, square = x * x;
  float p = -2.5052108385e-8f;
  p = p * square + 2.7557319224e-6f;
  p = p * square - 1.9841269841e-4f;
  p = p * square + 8.3333333333e-3f;
  p = p * square - 1.6666666667e-1f;
  return x + x * square * p;
}

// The square root of x >= 0, to about 1e-7, without the library's, whose error
// number for x < 0 keeps loops from being vectorised: Newton's steps towards
// 1/sqrt(x), from half the exponent's negative.
inline float sqrt_positive(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits = 0x5F3759DFu - (bits >> 1);
  float r;
  std::memcpy(&r, &bits, 4);
  const float half = 0.5f * x;
  r *= 1.5f - half * r * r;
  r *= 1.5f - half * r * r;
  r *= 1.5f - half * r * r;
  return x * r;
}

// Draw i of the normal distribution with deviation 1 (Box and Muller 1958; one of
// the pair is thrown away for a plain counter). It is at most 5.9 in size.
inline float normal_draw(uint32_t i, DrawKey key) {
  const float u = static_cast<float>(static_cast<int32_t>(bits32(2 * i, key) >> 8) + 1) * 0x1p-24f;  // (0, 1]
  const float t = static_cast<float>(static_cast<int32_t>(bits32(2 * i + 1, key)) >> 8) * 0x1p-24f;  // [-1/2, 1/2)
  return sqrt_positive(-2.0f * log_positive(u)) * cos_turns(t);
}

}  // namespace ap
