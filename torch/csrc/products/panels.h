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
// are best used in their order.
void add_panel_product(const float *a, int64_t lda, const float *panel, int64_t K, int vectors, const PanelTarget &target, int64_t M);

}  // namespace ap
