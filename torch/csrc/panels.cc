#include "panels.h"

#include <algorithm>
#include <vector>

#include "isa.h"

namespace ap {
namespace {

// One register of 16 floats, at any address.
typedef float Vector __attribute__((vector_size(64), aligned(4)));

// Rows of a panel at a time: these and as many that follow stay in the second-level
// cache while all rows of a go through.
constexpr int64_t kDepth = 1152;

// R rows of V vectors: R * V sums, V vectors of the panel and one element of a
// fill the 32 registers. Meanwhile `lines` vectors for each k are fetched of what
// comes next, since the processor does not look far enough ahead by itself.
template <int R, int V>
__attribute__((always_inline)) inline void tile(const float *a, int64_t lda, const float *panel, int64_t K, const float *next, int lines, float *c,
                                                int64_t row, int64_t vector) {
  Vector sum[R][V];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) sum[r][v] = *reinterpret_cast<const Vector *>(c + r * row + v * vector);
  for (int64_t k = 0; k < K; ++k) {
    for (int line = 0; line < lines; ++line) __builtin_prefetch(next + (k * lines + line) * kLanes, 0, 2);
    Vector b[V];
    for (int v = 0; v < V; ++v) b[v] = *reinterpret_cast<const Vector *>(panel + (k * V + v) * kLanes);
    for (int r = 0; r < R; ++r) {
      const float x = a[r * lda + k];
      for (int v = 0; v < V; ++v) sum[r][v] += x * b[v];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) *reinterpret_cast<Vector *>(c + r * row + v * vector) = sum[r][v];
}

// All rows in groups that are as equal as can be, of at most Most. What follows in
// memory, as large as this part of the panel, is fetched by the first groups,
// each its share.
template <int V, int Most>
__attribute__((always_inline)) inline void all_rows(const float *a, int64_t lda, const float *panel, int64_t K, float *c, int64_t row, int64_t vector,
                                                    int64_t M) {
  int64_t groups = (M + Most - 1) / Most;
  const int share = static_cast<int>((V + groups - 1) / std::max<int64_t>(groups, 1));
  int left = V;  // vectors for each k that are still to be fetched
  const float *next = panel + K * V * kLanes;
  for (int64_t m = 0; m < M; --groups) {
    const int64_t rows = (M - m + groups - 1) / groups;
    const int lines = std::min(share, left);
#define AP_ROWS(R)                                                                                                     \
  case R:                                                                                                              \
    if constexpr (R <= Most) {                                                                                         \
      if (lines == 0) tile<R, V>(a + m * lda, lda, panel, K, next, 0, c + m * row, row, vector);                       \
      if (lines == 1) tile<R, V>(a + m * lda, lda, panel, K, next, 1, c + m * row, row, vector);                       \
      if (lines >= 2) tile<R, V>(a + m * lda, lda, panel, K, next, lines, c + m * row, row, vector);                   \
    }                                                                                                                  \
    break;
    switch (rows) {
      AP_ROWS(1) AP_ROWS(2) AP_ROWS(3) AP_ROWS(4) AP_ROWS(5) AP_ROWS(6) AP_ROWS(7)
      AP_ROWS(8) AP_ROWS(9) AP_ROWS(10) AP_ROWS(11) AP_ROWS(12) AP_ROWS(13) AP_ROWS(14)
    }
#undef AP_ROWS
    m += rows;
    left -= lines;
    next += lines * K * kLanes;
  }
}

AP_AVX512 void two_vectors(const float *a, int64_t lda, const float *panel, int64_t K, float *c, int64_t row, int64_t vector, int64_t M) {
  all_rows<2, 14>(a, lda, panel, K, c, row, vector, M);
}

AP_AVX512 void four_vectors(const float *a, int64_t lda, const float *panel, int64_t K, float *c, int64_t row, int64_t vector, int64_t M) {
  all_rows<4, 7>(a, lda, panel, K, c, row, vector, M);
}

}  // namespace

bool panels_available() { return isa() == ISA::avx512; }

void add_panel_product(const float *a, int64_t lda, const float *panel, int64_t K, int vectors, const PanelTarget &target, int64_t M) {
  float *c = target.c;
  int64_t row = target.row, vector = target.vector;
  bool whole = true;
  for (int v = 0; v < vectors; ++v) whole = whole && target.lanes[v] == kLanes;
  // The last panel has columns that do not exist, so its sums are kept elsewhere.
  std::vector<float> aside;
  if (!whole) {
    aside.resize(M * vectors * kLanes);
    c = aside.data();
    row = vectors * kLanes;
    vector = kLanes;
    for (int64_t m = 0; m < M; ++m)
      for (int v = 0; v < vectors; ++v)
        std::copy_n(target.c + m * target.row + v * target.vector, target.lanes[v], c + m * row + v * vector);
  }
  for (int64_t k = 0; k < K; k += kDepth) {
    const int64_t depth = std::min(kDepth, K - k);
    (vectors == 2 ? two_vectors : four_vectors)(a + k, lda, panel + k * vectors * kLanes, depth, c, row, vector, M);
  }
  if (whole) return;
  for (int64_t m = 0; m < M; ++m)
    for (int v = 0; v < vectors; ++v)
      std::copy_n(c + m * row + v * vector, target.lanes[v], target.c + m * target.row + v * target.vector);
}

}  // namespace ap
