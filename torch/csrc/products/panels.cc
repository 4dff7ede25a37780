#include "panels.h"

#include <algorithm>
#include <vector>

#include "devices/isa.h"
#include "panel_tiles.h"

namespace ap {
namespace {

struct AddProduct {
  template <int lanes>
  using Sum = typename Register<lanes>::type;
  template <int lanes>
  __attribute__((always_inline)) static void add(Sum<lanes> &sum, float x, const typename Register<lanes>::type &b) {
    sum += x * b;
  }
};

// With 32 registers of 16: 14 rows of 2 vectors, or 7 of 4. With 16 registers of 8:
// 6 rows of one vector, which is two of them, over so few rows of the panel at a time that
// a vector's lines stay in the first-level cache while all groups go through.
template <int V>
struct Product {
  AP_AVX512 static void avx512(const float *a, int64_t lda, const float *panel, int64_t K, float *c, int64_t row, int64_t vector, int64_t M) {
    all_rows<16, V, V, 28 / V, 1152, AddProduct>(a, lda, panel, K, c, row, vector, M);
  }
  AP_AVX2 static void avx2(const float *a, int64_t lda, const float *panel, int64_t K, float *c, int64_t row, int64_t vector, int64_t M) {
    all_rows<8, V, 1, 6, 192, AddProduct>(a, lda, panel, K, c, row, vector, M);
  }
};

struct TwoVectors : Product<2> {
  static constexpr const char *name = __FILE__ "/two_vectors";
};

struct FourVectors : Product<4> {
  static constexpr const char *name = __FILE__ "/four_vectors";
};

constexpr Kernel<TwoVectors> two_vectors;
constexpr Kernel<FourVectors> four_vectors;

}  // namespace

void add_panel_product(const float *a, int64_t lda, const float *panel, int64_t K, int vectors, bool pairs, const PanelTarget &target, int64_t M) {
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
  if (pairs)
    add_pairs(a, lda, panel, K, vectors, c, row, vector, M);
  else if (vectors == 2)
    two_vectors(a, lda, panel, K, c, row, vector, M);
  else
    four_vectors(a, lda, panel, K, c, row, vector, M);
  if (whole) return;
  for (int64_t m = 0; m < M; ++m)
    for (int v = 0; v < vectors; ++v)
      std::copy_n(c + m * row + v * vector, target.lanes[v], target.c + m * target.row + v * target.vector);
}

}  // namespace ap
