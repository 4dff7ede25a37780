// The sums of quads (quads.h) by VNNI's instruction for registers of 512 bits.
#include <immintrin.h>

#include <algorithm>

#include "devices/isa.h"
#include "devices/register.h"
#include "panels.h"
#include "quads.h"

// What others see too stands above, so that no function that they may share is compiled with these instructions.
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,avx512vnni")

#include "panel_tiles.h"

namespace ap {
namespace {

typedef int Sums __attribute__((vector_size(64), aligned(4), may_alias));

// A float is four small integers, of which nothing but the bits is moved.
struct AddQuad {
  template <int lanes>
  using Sum = Sums;
  template <int lanes>
  __attribute__((always_inline)) static void add(Sums &sum, float x, const typename Register<lanes>::type &b) {
    sum = reinterpret_cast<Sums>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), _mm512_castps_si512(_mm512_set1_ps(x)), _mm512_castps_si512(b)));
  }
};

}  // namespace

void sum_quads_vnni(const float *a, int64_t lda, const float *panel, int64_t K, int32_t *c, int64_t M) {
  std::fill_n(c, M * kQuadVectors * kLanes, 0);
  all_rows<16, kQuadVectors, kQuadVectors, 14, 1152, AddQuad>(a, lda, panel, K, reinterpret_cast<float *>(c), kQuadVectors * kLanes, kLanes, M);
}

}  // namespace ap

#pragma GCC pop_options

namespace ap {

bool has_vnni() {
  __builtin_cpu_init();
  return isa() == ISA::avx512 && __builtin_cpu_supports("avx512vnni");
}

}  // namespace ap
