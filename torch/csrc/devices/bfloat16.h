// bfloat16 in kernels: the upper half of a float's bits. g++ makes no vectors of a loop over c10::BFloat16's rounding,
// which branches where a number is none; it does of these.
#pragma once

#include <cstdint>
#include <cstring>

namespace ap {

inline float float_of(uint16_t x) {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}

// To the nearest, of two the even one.
inline uint16_t bfloat16_of(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  const uint16_t rounded = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  return f != f ? 0x7fc0 : rounded;
}

}  // namespace ap
