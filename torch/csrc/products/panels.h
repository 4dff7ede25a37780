// Products of few rows with a matrix that serves many of them, one after the
// other, as the steps of a recurrent layer do.
//
// The matrix is cut into panels of some vectors of 16 columns each. A panel holds
// its part of row 0, then of row 1, and so on, so that a product reads it from end
// to end, and columns beyond the matrix are zeros. The caller fills panels, since
// it knows which columns belong together.
#pragma once

#include <cstdint>

namespace ap {

constexpr int64_t kLanes = 16;  // columns of a vector

// Where a product goes: row m of vector v stands at c + m * row + v * vector, and
// lanes[v] columns of it exist.
struct PanelTarget {
  float *c;
  int64_t row, vector;
  int64_t lanes[4];
};

// c_MN += a_MK panel_KN for a panel of two or four vectors; row m of a stands at
// a + m * lda. What follows the panel in memory is fetched meanwhile, so panels
// are best used in their order. With pairs, an element of a and of the panel is a pair of
// bfloat16, of which both products are added: K is the number of pairs.
void add_panel_product(const float *a, int64_t lda, const float *panel, int64_t K, int vectors, bool pairs, const PanelTarget &target, int64_t M);

// What follows needs the processor's instructions for bfloat16 (half_panels.cc).

// M rows of K numbers, rounded, as pairs: [M, (K + 1) / 2], where an odd K ends with a 0.
void pair_up(const float *a, int64_t K, int64_t M, float *pairs);

// The pairs of numbers that stand below each other in two rows.
void pair_rows(const float *first, const float *second, int64_t n, float *pairs);

// The product of pairs, c and its distances as in PanelTarget, all lanes there.
void add_pairs(const float *a, int64_t lda, const float *panel, int64_t K, int vectors, float *c, int64_t row, int64_t vector, int64_t M);

}  // namespace ap
