// The sums of quads (quads.h) by AVX-VNNI: VNNI's instruction for registers of 256 bits, which processors without
// AVX-512 have since Alder Lake.
#include <immintrin.h>

#include <algorithm>

#include "devices/register.h"
#include "panels.h"
#include "quads.h"

// What others see too stands above, so that no function that they may share is compiled with these instructions.
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3,avxvnni")

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
    sum = reinterpret_cast<Sums>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sum), _mm256_castps_si256(_mm256_set1_ps(x)), _mm256_castps_si256(b)));
  }
};

}  // namespace

void sum_quads_avx_vnni(const float *a, int64_t lda, const float *panel, int64_t K, int32_t *c, int64_t M) {
  std::fill_n(c, M * kQuadVectors * kLanes, 0);
  all_rows<8, kQuadVectors, 1, 6, 192, AddQuad>(a, lda, panel, K, reinterpret_cast<float *>(c), kQuadVectors * kLanes, kLanes, M);
}

}  // namespace ap

#pragma GCC pop_options

namespace ap {

bool has_avx_vnni() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avxvnni");
}

}  // namespace ap
