// Counter-based random bits: element i of a draw is a function of the draw's
// key and i alone, so a draw can be made in parallel, and made again in the
// backward pass instead of being kept.
#pragma once

#include <cstdint>

namespace ap {

// splitmix64's output function: turns consecutive counters into independent words.
inline uint64_t mix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// A draw's key: two words that depend on every bit of (seed, offset).
struct DrawKey {
  uint32_t a, b;
  DrawKey(uint64_t seed, uint64_t offset) {
    const uint64_t k = mix64(mix64(seed) ^ mix64(offset ^ 0xD1B54A32D192ED03ull));
    a = static_cast<uint32_t>(k);
    b = static_cast<uint32_t>(k >> 32);
  }
  // For a generator of another kind.
  uint64_t seed() const { return static_cast<uint64_t>(b) << 32 | a; }
};

// 32 random bits for element i: two rounds of a bijective 32-bit hash with
// the key's words mixed in between; cheap enough to stay in vector registers.
inline uint32_t bits32(uint32_t i, DrawKey key) {
  uint32_t x = i * 0x9E3779B1u + key.a;
  x ^= x >> 16;
  x *= 0x7FEB352Du;
  x ^= x >> 15;
  x += key.b;
  x *= 0x846CA68Bu;
  x ^= x >> 16;
  x *= 0x85EBCA6Bu;
  x ^= x >> 13;
  return x;
}

// Elements whose bits fall below the threshold are dropped.
inline uint32_t drop_threshold(double p) {
  const double t = p * 4294967296.0;
  return t >= 4294967295.0 ? 4294967295u : static_cast<uint32_t>(t);
}

}  // namespace ap
