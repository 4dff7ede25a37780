#include "int8_panels.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "devices/isa.h"
#include "devices/register.h"
#include "panels.h"
#include "products.h"
#include "step_panels.h"

// What others see too stands above, so that no function that they may share is compiled with these instructions.
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,avx512vnni")

#include "largest_size.h"
#include "panel_tiles.h"

namespace ap {
namespace {

constexpr int kVectors = 2;
constexpr int64_t kOutputs = kVectors * kLanes;  // of a panel
constexpr int64_t kRows = 320;                   // at once, so that they stay in the second-level cache
constexpr int kZero = 128;                       // what stands for 0 in an input

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

// x / m * 127 + kZero, rounded, and returns m / 127 for the largest size m in x. A row with a number that is none, or infinite,
// becomes zeros and returns NaN.
float quantise_row(const float *x, int64_t n, uint8_t *to) {
  const float most = largest_size(x, n);
  if (!(most > 0)) {
    std::fill_n(to, n, static_cast<uint8_t>(kZero));
    return most;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<uint8_t>(static_cast<int>(std::nearbyint(x[i] / most * 127)) + kZero);
  return most / 127;
}

// The sums of M rows with a panel of K quads, of 32 bits, as floats' bits.
void sum_quads(const float *a, int64_t lda, const float *panel, int64_t K, float *sums, int64_t M) {
  std::fill_n(sums, M * kOutputs, 0.0f);
  all_rows<16, kVectors, kVectors, 14, 1152, AddQuad>(a, lda, panel, K, sums, kOutputs, kLanes, M);
}

// y = (sum - offset) * m * scale + bias for `lanes` outputs, then max(0, y) where relu is set.
void finish(const float *sums, const float *offset, const float *scale, const float *bias, float m, bool relu, int64_t lanes, float *y) {
  const __mmask16 there = static_cast<__mmask16>((1u << lanes) - 1);
  typedef Register<16>::type Lanes;
  const Sums sum = *reinterpret_cast<const Sums *>(sums) - *reinterpret_cast<const Sums *>(offset);
  Lanes out = __builtin_convertvector(sum, Lanes) * (*reinterpret_cast<const Lanes *>(scale) * m);
  if (bias) out += _mm512_maskz_loadu_ps(there, bias);
  if (relu) out = out < 0 ? Lanes{} : out;
  _mm512_mask_storeu_ps(y, there, out);
}

}  // namespace
}  // namespace ap

#pragma GCC pop_options

namespace ap {
namespace {

class Int8Panels : public Int8Weight {
 public:
  explicit Int8Panels(const at::Tensor &w_OI);
  at::Tensor linear(const at::Tensor &x_NI, const at::Tensor &bias_O, bool relu) const override;

 private:
  int64_t O_, I_;
  at::Tensor panels_, scale_O_;
  at::Tensor offset_O_;  // what an output's sum has too much, since inputs are from 1 to 255 and not from -127 to 127
};

Int8Panels::Int8Panels(const at::Tensor &w_OI) : O_(w_OI.size(0)), I_(w_OI.size(1)) {
  const int64_t K = (I_ + 3) / 4, count = (O_ + kOutputs - 1) / kOutputs;
  scale_O_ = w_OI.abs().amax(1).div_(127);
  scale_O_.masked_fill_(scale_O_ == 0, 1);
  const at::Tensor q_OI = w_OI.div(scale_O_.unsqueeze(1)).round_().clamp_(-127, 127).to(at::kChar);
  offset_O_ = at::constant_pad_nd(q_OI.sum(1, false, at::kInt).mul_(kZero), {0, count * kOutputs - O_});
  scale_O_ = at::constant_pad_nd(scale_O_, {0, count * kOutputs - O_});
  // [O, I] to [panels, outputs of one, quads, 4], and to [panels, quads, outputs of one, 4].
  panels_ = at::constant_pad_nd(q_OI, {0, K * 4 - I_, 0, count * kOutputs - O_}).view({count, kOutputs, K, 4}).transpose(1, 2).contiguous();
}

at::Tensor Int8Panels::linear(const at::Tensor &x_NI, const at::Tensor &bias_O, bool relu) const {
  const int64_t N = x_NI.size(0), K = (I_ + 3) / 4, count = panels_.size(0);
  const at::Tensor quads = at::empty({N, K * 4}, x_NI.options().dtype(at::kByte)), y = at::empty({N, O_}, x_NI.options());
  const float *x = x_NI.const_data_ptr<float>(), *bias = bias_O.defined() ? bias_O.const_data_ptr<float>() : nullptr;
  uint8_t *a = quads.mutable_data_ptr<uint8_t>();
  std::vector<float> m(N);
  const ProductTimer timer;
  at::parallel_for(0, N, std::max<int64_t>(1, (1 << 14) / I_), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      m[n] = quantise_row(x + n * I_, I_, a + n * K * 4);
      std::fill_n(a + n * K * 4 + I_, K * 4 - I_, static_cast<uint8_t>(0));
    }
  });
  const auto *panels = static_cast<const float *>(panels_.const_data_ptr()), *offset = static_cast<const float *>(offset_O_.const_data_ptr());
  const float *scale = scale_O_.const_data_ptr<float>();
  float *to = y.mutable_data_ptr<float>();
  for (int64_t first = 0; first < N; first += kRows) {
    const int64_t rows = std::min(kRows, N - first);
    const float *from = reinterpret_cast<const float *>(a) + first * K;
    at::parallel_for(0, count, panels_at_once(rows, K), [&](int64_t begin, int64_t end) {
      alignas(64) float sums[kRows * kOutputs];
      for (int64_t p = begin; p < end; ++p) {
        sum_quads(from, K, panels + p * K * kOutputs, K, sums, rows);
        for (int64_t o = p * kOutputs; o < std::min(O_, (p + 1) * kOutputs); o += kLanes)
          for (int64_t r = 0; r < rows; ++r)
            finish(sums + r * kOutputs + o % kOutputs, offset + o, scale + o, bias ? bias + o : nullptr, m[first + r], relu, std::min(kLanes, O_ - o),
                   to + (first + r) * O_ + o);
      }
    });
  }
  return y;
}

}  // namespace

bool has_vnni() {
  __builtin_cpu_init();
  return isa() == ISA::avx512 && __builtin_cpu_supports("avx512vnni");
}

c10::intrusive_ptr<Int8Weight> int8_panels(const at::Tensor &w_OI) { return c10::make_intrusive<Int8Panels>(w_OI); }

}  // namespace ap
