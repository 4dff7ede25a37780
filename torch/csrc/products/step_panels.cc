#include "step_panels.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include "devices/isa.h"
#include "products.h"

namespace ap {
namespace {

// Some rows of a matrix and what is dropped from it.
struct Source {
  const float *w;
  int64_t step, K;  // from row to row; columns
  uint32_t threshold;
  float scale;
  DrawKey key;
};

// n elements of row r from column k on, with the mask.
inline void masked(const Source &s, int64_t r, int64_t k, int64_t n, float *to) {
  const float *w = s.w + r * s.step + k;
  const int64_t first = r * s.K + k;
  const uint32_t threshold = s.threshold;
  const float scale = s.scale;
  const DrawKey key = s.key;
  if (threshold == 0) {
    for (int64_t i = 0; i < n; ++i) to[i] = w[i];
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = bits32(static_cast<uint32_t>(first + i), key) < threshold ? 0.0f : w[i] * scale;
}

// The panel of units [j, j + n) of H: row k holds, gate by gate, their weights of
// input k.
AP_KERNEL(void, pack_gates, const Source &s, int64_t H, int64_t j, int64_t n, float *rows, float *panel) {
  for (int64_t gate = 0; gate < 4; ++gate) {
    for (int64_t u = 0; u < n; ++u) masked(s, gate * H + j + u, 0, s.K, rows + u * s.K);
    for (int64_t k = 0; k < s.K; ++k)
      for (int64_t u = 0; u < n; ++u) panel[k * 4 * kLanes + gate * kLanes + u] = rows[u * s.K + k];
  }
}

// The panels of columns [j, j + n) of so many rows, `size` elements from one panel to the next. A few rows at a time go to all
// panels, so that rows are read from end to end: panel by panel each row would be on another page.
AP_KERNEL(void, pack_columns, const Source &s, int64_t rows, int64_t j, int64_t n, float *panels, int64_t size) {
  constexpr int64_t width = 2 * kLanes, block = 8;
  for (int64_t first = 0; first < rows; first += block) {
    const int64_t last = std::min(first + block, rows);
    float *panel = panels + first * width;
    for (int64_t c = 0; c < n; c += width, panel += size) {
      if (n - c >= width)
        for (int64_t row = first; row < last; ++row) masked(s, row, j + c, width, panel + (row - first) * width);
      else
        for (int64_t row = first; row < last; ++row) masked(s, row, j + c, n - c, panel + (row - first) * width);
    }
  }
}

}  // namespace

StepPanels::StepPanels(const std::vector<at::Tensor> &parts, const Drop &drop, bool gates) : gates_(gates), first_{0} {
  TORCH_CHECK(drop.p == 0 || parts.size() == 1, "only a single matrix can be dropped from");
  width_ = gates ? parts[0].size(0) / 4 : parts[0].size(1);
  units_ = gates ? kUnits : kColumns;
  for (const at::Tensor &w : parts) {
    TORCH_CHECK((w.stride(1) == 1 || w.size(1) == 1) && w.size(gates ? 0 : 1) == (gates ? 4 : 1) * width_, "a matrix of shape ", w.sizes(), " does not fit the others");
    first_.push_back(first_.back() + w.size(gates ? 1 : 0));
  }
  const int64_t row = (gates ? 4 : 2) * kLanes, size = depth() * row;
  panels_ = at::empty({count(), size}, parts[0].options());
  float *to = panels_.mutable_data_ptr<float>();
  at::parallel_for(0, count(), 1, [&](int64_t begin_panel, int64_t end_panel) {
    if (end(end_panel - 1) - begin(end_panel - 1) < units_) std::fill_n(to + (end_panel - 1) * size, size, 0.0f);
    std::vector<float> rows(gates ? kUnits * depth() : 0);
    for (size_t i = 0; i < parts.size(); ++i) {
      const at::Tensor &w = parts[i];
      const Source s{w.const_data_ptr<float>(), w.stride(0), w.size(1), drop_threshold(drop.p), static_cast<float>(1 / (1 - drop.p)), drop.key};
      float *part = to + first_[i] * row;
      if (!gates) pack_columns(s, w.size(0), begin(begin_panel), end(end_panel - 1) - begin(begin_panel), part + begin_panel * size, size);
      for (int64_t p = begin_panel; gates && p < end_panel; ++p) pack_gates(s, width_, begin(p), end(p) - begin(p), rows.data(), part + p * size);
    }
  });
}

StepPanels StepPanels::of_gates(const std::vector<at::Tensor> &parts, const Drop &drop) { return StepPanels(parts, drop, true); }

StepPanels StepPanels::of_columns(const std::vector<at::Tensor> &parts, const Drop &drop) { return StepPanels(parts, drop, false); }

void StepPanels::add(int64_t p, int part, const float *a_BK, float *c, int64_t B) const {
  const int64_t j = begin(p), n = end(p) - j, row = (gates_ ? 4 : 2) * kLanes, K = first_[part + 1] - first_[part];
  PanelTarget target{c + j, gates_ ? 4 * width_ : width_, gates_ ? width_ : kLanes, {n, n, n, n}};
  if (!gates_) target.lanes[0] = std::min(n, kLanes), target.lanes[1] = n - target.lanes[0];
  const ProductTimer timer;
  add_panel_product(a_BK, K, panels_.const_data_ptr<float>() + (p * depth() + first_[part]) * row, K, gates_ ? 4 : 2, target, B);
}

}  // namespace ap
