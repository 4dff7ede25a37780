// The loops of a product with a panel (panels.h), for whatever an element of it is. Each file that includes this
// compiles them for its own instructions.
#pragma once

#include <algorithm>

#include "devices/register.h"
#include "panels.h"

namespace ap {
namespace {

// R rows of W vectors. The sums, one element of a and the vectors of the panel fill
// the registers. Meanwhile `lines` vectors for each k are fetched of what comes
// next, since the processor does not look far enough ahead by itself. Row k of the
// panel begins at panel + k * step.
template <int lanes, int R, int W, class Add>
__attribute__((always_inline)) inline void tile(const float *a, int64_t lda, const float *panel, int64_t step, int64_t K, const float *next, int lines,
                                                float *c, int64_t row, int64_t vector) {
  typedef typename Register<lanes>::type Lanes;
  typedef typename Add::template Sum<lanes> Sum;
  constexpr int pieces = kLanes / lanes, N = W * pieces;
  Sum sum[R][N];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) sum[r][n] = *reinterpret_cast<const Sum *>(c + r * row + n / pieces * vector + n % pieces * lanes);
  for (int64_t k = 0; k < K; ++k) {
    for (int line = 0; line < lines; ++line) __builtin_prefetch(next + (k * lines + line) * kLanes, 0, 2);
    Lanes b[N];
    for (int n = 0; n < N; ++n) b[n] = *reinterpret_cast<const Lanes *>(panel + k * step + n * lanes);
    for (int r = 0; r < R; ++r) {
      const float x = a[r * lda + k];
      for (int n = 0; n < N; ++n) Add::template add<lanes>(sum[r][n], x, b[n]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) *reinterpret_cast<Sum *>(c + r * row + n / pieces * vector + n % pieces * lanes) = sum[r][n];
}

// The product with a panel of V vectors, W of them and at most Most rows at a time,
// in groups of rows that are as equal as can be. `depth` rows of the panel are
// worked through at a time: these and the next `depth` stay in the second-level
// cache while all rows of a go through. What follows in memory, as much as this part
// of the panel, is fetched by the first groups, each its share.
//
// An element's sum runs over k in order, whatever the set and the groups.
template <int lanes, int V, int W, int Most, int64_t depth, class Add>
__attribute__((always_inline)) inline void all_rows(const float *a, int64_t lda, const float *panel, int64_t K, float *c, int64_t row, int64_t vector,
                                                    int64_t M) {
  for (; K > 0; K -= depth, a += depth, panel += depth * V * kLanes) {
    const int64_t part = std::min(K, depth);
    int64_t groups = (M + Most - 1) / Most;
    const int64_t tiles = groups * (V / W);
    const int share = static_cast<int>((V + tiles - 1) / std::max<int64_t>(tiles, 1));
    int left = V;  // vectors for each k that are still to be fetched
    const float *next = panel + part * V * kLanes;
    for (int64_t m = 0; m < M; --groups) {
      const int64_t rows = (M - m + groups - 1) / groups;
      for (int v = 0; v < V; v += W) {
        const int lines = std::min(share, left);
        const float *from = a + m * lda, *with = panel + v * kLanes;
        float *to = c + m * row + v * vector;
#define AP_ROWS(R)                                                                                                     \
  case R:                                                                                                              \
    if constexpr (R <= Most) {                                                                                         \
      if (lines == 0) tile<lanes, R, W, Add>(from, lda, with, V * kLanes, part, next, 0, to, row, vector);               \
      if (lines == 1) tile<lanes, R, W, Add>(from, lda, with, V * kLanes, part, next, 1, to, row, vector);               \
      if (lines >= 2) tile<lanes, R, W, Add>(from, lda, with, V * kLanes, part, next, lines, to, row, vector);           \
    }                                                                                                                  \
    break;
        switch (rows) {
          AP_ROWS(1) AP_ROWS(2) AP_ROWS(3) AP_ROWS(4) AP_ROWS(5) AP_ROWS(6) AP_ROWS(7)
          AP_ROWS(8) AP_ROWS(9) AP_ROWS(10) AP_ROWS(11) AP_ROWS(12) AP_ROWS(13) AP_ROWS(14)
        }
#undef AP_ROWS
        left -= lines;
        next += lines * part * kLanes;
      }
      m += rows;
    }
  }
}

}  // namespace
}  // namespace ap
