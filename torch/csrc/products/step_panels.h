// A matrix that every step of a recurrence multiplies by, packed into panels
// (panels.h) once for all of them.
//
// Several matrices whose products add up are packed as one, so that a panel holds
// its part of each, one after the other.
#pragma once

#include <ATen/Tensor.h>

#include <algorithm>
#include <vector>

#include "panels.h"
#include "operators/random.h"
#include "thin.h"

namespace ap {

// Which elements of a matrix are dropped, where element [r,k] of a matrix of K columns
// takes bit r * K + k of the draw; the others are divided by 1 - p.
struct Drop {
  double p = 0;
  DrawKey key{0, 0};
};

class StepPanels {
 public:
  static constexpr int64_t kUnits = kLanes, kColumns = 2 * kLanes;  // of a panel

  StepPanels() = default;

  // For c_B4H += the sum over parts of a_BK w^T, w [4H,K]: a panel holds some units, and
  // of these all four gates. Parts are float32 matrices on the CPU, whose rows may
  // stand apart. Only a single part can be dropped from.
  // With half they are kept, and multiplied, in bfloat16: a then is what pair_up makes of it.
  static StepPanels of_gates(const std::vector<at::Tensor> &parts, const Drop &drop = {}, bool half = false);

  // For c_BN += the sum over parts of a_BK w, w [K,N]: a panel holds some columns. In float32 and with nothing dropped,
  // w may be a transposed matrix whose own rows may stand apart.
  static StepPanels of_columns(const std::vector<at::Tensor> &parts, const Drop &drop = {}, bool half = false);

  bool filled() const { return panels_.defined(); }
  int64_t count() const { return (width_ + units_ - 1) / units_; }
  int64_t depth() const { return first_.back(); }  // of all parts, in elements of a

  // The units or columns of panel p are [begin(p), end(p)).
  int64_t begin(int64_t p) const { return p * units_; }
  int64_t end(int64_t p) const { return std::min(width_, (p + 1) * units_); }

  // Adds a_BK's product with one part of panel p to its columns of c. What follows in
  // memory is fetched meanwhile: part by part, then panel by panel is best.
  void add(int64_t p, int part, const float *a_BK, float *c, int64_t B) const;

  // The same where rows of a are lda apart, those of c ldc, and c is the first of the panel's columns alone. Not of
  // gates.
  void add_columns(int64_t p, int part, const float *a, int64_t lda, float *c, int64_t ldc, int64_t B) const;
  int parts() const { return static_cast<int>(first_.size()) - 1; }
  int64_t first(int part) const { return first_[part]; }  // of a's elements that meet the part

 private:
  StepPanels(const std::vector<at::Tensor> &parts, const Drop &drop, bool gates, bool half);

  void multiply(int64_t p, int part, const float *a, int64_t lda, const PanelTarget &target, int64_t B) const;

  int64_t width_ = 0, units_ = 1;  // H or N; units or columns of a panel
  bool gates_ = false, half_ = false;
  std::vector<int64_t> first_;  // row of a panel at which a part begins, and that after the last
  at::Tensor panels_;
};

// How a recurrence of T steps over B columns multiplies by its matrix, whatever the
// instruction set. Panels take time to fill: a few rows read the matrix as it lies (thin.h),
// and a few steps leave the product to the matrix library. docs/results/speed.md has what
// was measured.
enum class StepPath { thin, library, panels };

inline StepPath step_path(int64_t T, int64_t B) { return B <= kThin ? StepPath::thin : T < 4 ? StepPath::library : StepPath::panels; }

// How many panels a thread should take at least, for products of B rows, `depth` deep.
inline int64_t panels_at_once(int64_t B, int64_t depth) {
  const int64_t cost = B * std::max<int64_t>(depth * 4 * kLanes, 128 * kLanes);
  return std::max<int64_t>(1, (1 << 18) / std::max<int64_t>(1, cost));
}

}  // namespace ap
