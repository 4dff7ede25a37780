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

// n rows from row r on, columns [k, k + K), with the mask.
AP_KERNEL(void, copy_rows, const Source &s, int64_t r, int64_t n, int64_t k, int64_t K, float *to) {
  for (int64_t u = 0; u < n; ++u) masked(s, r + u, k, K, to + u * K);
}

// Column u of the result, whose rows are `step` apart, is row u of n rows [n,K], which are `from` apart. A cache line
// of each row at a time: rows a power of two apart share few places of the cache.
AP_KERNEL(void, transpose_rows, const float *rows, int64_t from, int64_t n, int64_t K, float *to, int64_t step) {
  constexpr int64_t line = 16;
  for (int64_t first = 0; first < K; first += line) {
    const int64_t last = std::min(first + line, K);
    for (int64_t u = 0; u < n; ++u)
      for (int64_t k = first; k < last; ++k) to[k * step + u] = rows[u * from + k];
  }
}

// The panel of units [j, j + n) of H: row k holds, gate by gate, their weights of
// input k.
void pack_gates(const Source &s, int64_t H, int64_t j, int64_t n, float *rows, float *panel) {
  for (int64_t gate = 0; gate < 4; ++gate) {
    copy_rows(s, gate * H + j, n, 0, s.K, rows);
    transpose_rows(rows, s.K, n, s.K, panel + gate * kLanes, 4 * kLanes);
  }
}

// The panels of columns [j, j + n) of `rows` rows, `size` elements from one panel to the next. A few rows at a time go
// to all panels, so that rows are read from end to end: panel by panel each row would be on another page.
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

// The same panels of pairs of bfloat16: of units, row i holds their weights of inputs 2i and 2i + 1; of columns, rows
// 2i and 2i + 1 of the matrix.
void pack_gate_pairs(const Source &s, int64_t H, int64_t j, int64_t n, float *rows, float *panel) {
  const int64_t pairs = (s.K + 1) / 2;
  std::vector<float> paired(n * pairs);
  for (int64_t gate = 0; gate < 4; ++gate) {
    copy_rows(s, gate * H + j, n, 0, s.K, rows);
    pair_up(rows, s.K, n, paired.data());
    transpose_rows(paired.data(), pairs, n, pairs, panel + gate * kLanes, 4 * kLanes);
  }
}

void pack_column_pairs(const Source &s, int64_t rows, int64_t j, int64_t n, float *panels, int64_t size) {
  constexpr int64_t width = 2 * kLanes;
  std::vector<float> two(2 * n);
  for (int64_t row = 0; row < rows; row += 2, panels += width) {
    if (row + 1 == rows) std::fill_n(two.begin() + n, n, 0.0f);
    copy_rows(s, row, std::min<int64_t>(2, rows - row), j, n, two.data());
    for (int64_t c = 0; c < n; c += width) pair_rows(&two[c], &two[n + c], std::min(width, n - c), panels + c / width * size);
  }
}

// Whether the elements of a row, or of a column, lie one after another.
bool in_rows(const at::Tensor &w) { return w.stride(1) == 1 || w.size(1) == 1; }
bool in_columns(const at::Tensor &w) { return w.stride(0) == 1 || w.size(0) == 1; }

}  // namespace

StepPanels::StepPanels(const std::vector<at::Tensor> &parts, const Drop &drop, bool gates, bool half) : gates_(gates), half_(half), first_{0} {
  TORCH_CHECK(drop.p == 0 || parts.size() == 1, "only a single matrix can be dropped from");
  width_ = gates ? parts[0].size(0) / 4 : parts[0].size(1);
  units_ = gates ? kUnits : kColumns;
  for (const at::Tensor &w : parts) {
    TORCH_CHECK((in_rows(w) || (in_columns(w) && !gates && !half && drop.p == 0)) && w.size(gates ? 0 : 1) == (gates ? 4 : 1) * width_, "a matrix of shape ", w.sizes(), " does not fit the others");
    const int64_t K = w.size(gates ? 1 : 0);
    first_.push_back(first_.back() + (half ? (K + 1) / 2 : K));
  }
  const int64_t row = (gates ? 4 : 2) * kLanes, size = depth() * row;
  panels_ = at::empty({count(), size}, parts[0].options());
  float *to = panels_.mutable_data_ptr<float>();
  at::parallel_for(0, count(), 1, [&](int64_t begin_panel, int64_t end_panel) {
    if (end(end_panel - 1) - begin(end_panel - 1) < units_) std::fill_n(to + (end_panel - 1) * size, size, 0.0f);
    std::vector<float> rows(gates ? kUnits * (half ? 2 * depth() : depth()) : 0);
    for (size_t i = 0; i < parts.size(); ++i) {
      const at::Tensor &w = parts[i];
      const Source s{w.const_data_ptr<float>(), w.stride(0), w.size(1), drop_threshold(drop.p), static_cast<float>(1 / (1 - drop.p)), drop.key};
      float *part = to + first_[i] * row;
      if (!in_rows(w)) {
        for (int64_t p = begin_panel; p < end_panel; ++p)
          transpose_rows(s.w + begin(p) * w.stride(1), w.stride(1), end(p) - begin(p), w.size(0), part + p * size, row);
        continue;
      }
      if (!gates) {
        const int64_t columns = end(end_panel - 1) - begin(begin_panel);
        if (half)
          pack_column_pairs(s, w.size(0), begin(begin_panel), columns, part + begin_panel * size, size);
        else
          pack_columns(s, w.size(0), begin(begin_panel), columns, part + begin_panel * size, size);
      }
      for (int64_t p = begin_panel; gates && p < end_panel; ++p)
        (half ? pack_gate_pairs : pack_gates)(s, width_, begin(p), end(p) - begin(p), rows.data(), part + p * size);
    }
  });
}

StepPanels StepPanels::of_gates(const std::vector<at::Tensor> &parts, const Drop &drop, bool half) { return StepPanels(parts, drop, true, half); }

StepPanels StepPanels::of_columns(const std::vector<at::Tensor> &parts, const Drop &drop, bool half) { return StepPanels(parts, drop, false, half); }

void StepPanels::multiply(int64_t p, int part, const float *a, int64_t lda, const PanelTarget &target, int64_t B) const {
  const int64_t row = (gates_ ? 4 : 2) * kLanes, K = first_[part + 1] - first_[part];
  const ProductTimer timer;
  add_panel_product(a, lda, panels_.const_data_ptr<float>() + (p * depth() + first_[part]) * row, K, gates_ ? 4 : 2, half_, target, B);
}

void StepPanels::add(int64_t p, int part, const float *a_BK, float *c, int64_t B) const {
  const int64_t j = begin(p), n = end(p) - j, lda = first_[part + 1] - first_[part];
  if (!gates_) return add_columns(p, part, a_BK, lda, c + j, width_, B);
  multiply(p, part, a_BK, lda, {c + j, 4 * width_, width_, {n, n, n, n}}, B);
}

void StepPanels::add_columns(int64_t p, int part, const float *a, int64_t lda, float *c, int64_t ldc, int64_t B) const {
  const int64_t n = end(p) - begin(p), lanes = std::min(n, kLanes);
  multiply(p, part, a, lda, {c, ldc, kLanes, {lanes, n - lanes}}, B);
}

}  // namespace ap
