// The sums of quads (quads.h) where the processor has no instruction for them. AVX2's instruction multiplies numbers of
// eight bits, one of them without a sign, and adds neighbouring products in 16 bits. So the sign of an input moves to
// the weights, and two products of at most 127 * 127 fit.
#include <immintrin.h>

#include <algorithm>

#include "devices/register.h"
#include "panels.h"
#include "quads.h"

// What others see too stands above, so that no function that they may share is compiled with these instructions.
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")

#include "panel_tiles.h"

namespace ap {
namespace {

typedef int Sums __attribute__((vector_size(32), aligned(4), may_alias));

// A float is four small integers, of which nothing but the bits is moved.
struct AddQuad {
  template <int lanes>
  using Sum = Sums;
  template <int lanes>
  __attribute__((always_inline)) static void add(Sums &sum, float x, const typename Register<lanes>::type &b) {
    const __m256i a = _mm256_castps_si256(_mm256_set1_ps(x));
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(_mm256_castps_si256(b), a));
    sum += reinterpret_cast<Sums>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

}  // namespace

void sum_quads_avx2(const float *a, int64_t lda, const float *panel, int64_t K, int32_t *c, int64_t M) {
  std::fill_n(c, M * kQuadVectors * kLanes, 0);
  all_rows<8, kQuadVectors, 1, 5, 192, AddQuad>(a, lda, panel, K, reinterpret_cast<float *>(c), kQuadVectors * kLanes, kLanes, M);
}

}  // namespace ap

#pragma GCC pop_options
