// Products with panels of bfloat16 (panels.h), by the instruction that adds two products of such numbers to a float:
// twice the rate of float32. It rounds after each addition and takes denormal numbers for 0.
#include <immintrin.h>

#include <algorithm>

#include "devices/bfloat16.h"
#include "devices/register.h"
#include "panels.h"

// What others see too stands above, so that no function that they may share is compiled with these instructions.
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,avx512bf16")

#include "panel_tiles.h"

namespace ap {
namespace {

struct AddPair {
  template <int lanes>
  using Sum = typename Register<lanes>::type;
  template <int lanes>
  __attribute__((always_inline)) static void add(Sum<lanes> &sum, float x, const typename Register<lanes>::type &b) {
    sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(_mm512_set1_ps(x)), reinterpret_cast<__m512bh>(b));
  }
};

}  // namespace

void pair_up(const float *a, int64_t K, int64_t M, float *pairs) {
  auto *to = reinterpret_cast<uint16_t *>(pairs);
  for (int64_t m = 0; m < M; ++m, a += K, to += K + K % 2) {
#pragma omp simd
    for (int64_t k = 0; k < K; ++k) to[k] = bfloat16_of(a[k]);
    if (K % 2) to[K] = 0;
  }
}

void pair_rows(const float *first, const float *second, int64_t n, float *pairs) {
  auto *to = reinterpret_cast<uint32_t *>(pairs);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = bfloat16_of(first[i]) | static_cast<uint32_t>(bfloat16_of(second[i])) << 16;
}

void add_pairs(const float *a, int64_t lda, const float *panel, int64_t K, int vectors, float *c, int64_t row, int64_t vector, int64_t M) {
  if (vectors == 2)
    all_rows<16, 2, 2, 14, 1152, AddPair>(a, lda, panel, K, c, row, vector, M);
  else
    all_rows<16, 4, 4, 7, 1152, AddPair>(a, lda, panel, K, c, row, vector, M);
}

}  // namespace ap

#pragma GCC pop_options
