// Products with weights of eight bits. A column of the weights (a row of W) has a scale of its own, and so has a row of
// the input: since sums of integers are exact, a row's result is the same in any company, on every processor and with
// every instruction (quads.h).
//
// Legend: N rows, I inputs, O outputs.
#include <ATen/ATen.h>
#include <ATen/OpaqueTensorImpl.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "api_packed_linear.h"
#include "border/common.h"
#include "devices/isa.h"
#include "packed_linear.h"
#include "panels.h"
#include "products.h"
#include "quads.h"
#include "step_panels.h"

namespace ap {
namespace {

constexpr int64_t kOutputs = kQuadVectors * kLanes;  // of a panel
constexpr int64_t kRows = 320;                       // at once, so that they stay in the second-level cache

// The largest size in x; no number where x holds one that is none, or infinite.
__attribute__((always_inline)) inline float largest_size(const float *x, int64_t n) {
  float most = 0, wrong = 0;
#pragma omp simd reduction(max : most) reduction(+ : wrong)
  for (int64_t i = 0; i < n; ++i) {
    const float size = std::fabs(x[i]);
    most = size > most ? size : most;
    wrong += size * 0.0f;
  }
  return wrong != wrong ? std::numeric_limits<float>::quiet_NaN() : most;
}

// x / m * 127 + zero, rounded, and returns m / 127 for the largest size m in x. A row with a number that is none, or
// infinite, becomes zeros and returns NaN.
AP_KERNEL(float, quantise_row, const float *x, int64_t n, int zero, uint8_t *to) {
  const float most = largest_size(x, n);
  if (!(most > 0)) {
    std::fill_n(to, n, static_cast<uint8_t>(zero));
    return most;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<uint8_t>(static_cast<int>(std::nearbyint(x[i] / most * 127)) + zero);
  return most / 127;
}

// y = (sum - offset) * m * scale + bias for n outputs, then max(0, y) where relu is set.
AP_KERNEL(void, finish, const int32_t *sums, const int32_t *offset, const float *scale, const float *bias, float m, bool relu, int64_t n, float *y) {
#pragma omp simd
  for (int64_t o = 0; o < n; ++o) y[o] = static_cast<float>(sums[o] - offset[o]) * (scale[o] * m);
  if (bias) {
#pragma omp simd
    for (int64_t o = 0; o < n; ++o) y[o] += bias[o];
  }
  if (!relu) return;
#pragma omp simd
  for (int64_t o = 0; o < n; ++o) y[o] = y[o] < 0 ? 0 : y[o];
}

// The sums that this processor is fastest with, and what stands for 0 in an input of theirs.
struct Quads {
  SumQuads sum;
  int zero;
};

Quads quads() {
  if (has_vnni()) return {sum_quads_vnni, 128};
  if (has_avx_vnni()) return {sum_quads_avx_vnni, 128};
  return {sum_quads_avx2, 0};
}

// A weight W [O,I] of eight bits, with a scale for each output, in panels (panels.h) of whose elements each is four
// weights of one output, for four inputs that stand beside each other.
class Int8Weight : public c10::intrusive_ptr_target {
 public:
  explicit Int8Weight(const at::Tensor &w_OI);

  // x_NI W^T + b, then max(0, .) where relu is set. x_NI is contiguous, of one row or more.
  at::Tensor linear(const at::Tensor &x_NI, const at::Tensor &bias_O, bool relu) const;

 private:
  Quads quads_;
  int64_t O_, I_;
  at::Tensor panels_, scale_O_;
  at::Tensor offset_O_;  // what an output's sum has too much where quads_.zero is not 0
};

Int8Weight::Int8Weight(const at::Tensor &w_OI) : quads_(quads()), O_(w_OI.size(0)), I_(w_OI.size(1)) {
  const int64_t K = (I_ + 3) / 4, count = (O_ + kOutputs - 1) / kOutputs;
  scale_O_ = at::empty({O_}, w_OI.options());
  const at::Tensor q_OI = at::empty({O_, I_}, w_OI.options().dtype(at::kChar));
  auto *q = reinterpret_cast<uint8_t *>(q_OI.mutable_data_ptr<int8_t>());
  float *scale = scale_O_.mutable_data_ptr<float>();
  for (int64_t o = 0; o < O_; ++o) scale[o] = quantise_row(w_OI.const_data_ptr<float>() + o * I_, I_, 0, q + o * I_);
  offset_O_ = q_OI.sum(1, false, at::kInt).mul_(quads_.zero);
  // [O, I] to [panels, outputs of one, quads, 4], and to [panels, quads, outputs of one, 4].
  panels_ = at::constant_pad_nd(q_OI, {0, K * 4 - I_, 0, count * kOutputs - O_}).view({count, kOutputs, K, 4}).transpose(1, 2).contiguous();
}

at::Tensor Int8Weight::linear(const at::Tensor &x_NI, const at::Tensor &bias_O, bool relu) const {
  const int64_t N = x_NI.size(0), K = (I_ + 3) / 4, count = panels_.size(0);
  const at::Tensor quads = at::empty({N, K * 4}, x_NI.options().dtype(at::kByte)), y = at::empty({N, O_}, x_NI.options());
  const float *x = x_NI.const_data_ptr<float>(), *bias = bias_O.defined() ? bias_O.const_data_ptr<float>() : nullptr;
  uint8_t *a = quads.mutable_data_ptr<uint8_t>();
  std::vector<float> m(N);
  const ProductTimer timer;
  at::parallel_for(0, N, std::max<int64_t>(1, (1 << 14) / I_), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      m[n] = quantise_row(x + n * I_, I_, quads_.zero, a + n * K * 4);
      std::fill_n(a + n * K * 4 + I_, K * 4 - I_, static_cast<uint8_t>(0));
    }
  });
  const auto *panels = static_cast<const float *>(panels_.const_data_ptr());
  const int32_t *offset = offset_O_.const_data_ptr<int32_t>();
  const float *scale = scale_O_.const_data_ptr<float>();
  float *to = y.mutable_data_ptr<float>();
  for (int64_t first = 0; first < N; first += kRows) {
    const int64_t rows = std::min(kRows, N - first);
    const float *from = reinterpret_cast<const float *>(a) + first * K;
    at::parallel_for(0, count, panels_at_once(rows, K), [&](int64_t begin, int64_t end) {
      alignas(64) int32_t sums[kRows * kOutputs];
      for (int64_t p = begin; p < end; ++p) {
        const int64_t o = p * kOutputs, outputs = std::min(O_ - o, kOutputs);
        quads_.sum(from, K, panels + p * K * kOutputs, K, sums, rows);
        for (int64_t r = 0; r < rows; ++r)
          finish(sums + r * kOutputs, offset + o, scale + o, bias ? bias + o : nullptr, m[first + r], relu, outputs, to + (first + r) * O_ + o);
      }
    });
  }
  return y;
}

using OpaqueWeight = at::OpaqueTensorImpl<c10::intrusive_ptr<Int8Weight>>;

}  // namespace

bool is_int8(const at::Tensor &weight) { return weight.scalar_type() == at::kQInt8; }

at::Tensor pack_int8(const at::Tensor &weight_OI) {
  TORCH_CHECK(weight_OI.dim() == 2 && weight_OI.size(0) > 0 && weight_OI.size(1) > 0 && weight_OI.is_cpu() && weight_OI.scalar_type() == at::kFloat,
              "only float32 matrices on the CPU with elements are packed to eight bits, not ", weight_OI.toString(), " of shape ", weight_OI.sizes());
  at::NoGradGuard no_grad;
  const at::Tensor w_OI = weight_OI.detach().contiguous();
  return at::detail::make_tensor<OpaqueWeight>(at::DispatchKeySet(at::DispatchKey::CPU), caffe2::TypeMeta::Make<c10::qint8>(), at::Device(at::kCPU),
                                               c10::make_intrusive<Int8Weight>(w_OI), w_OI.sizes());
}

at::Tensor int8_linear(const at::Tensor &x, const at::Tensor &weight, const at::Tensor &bias_O, bool relu) {
  TORCH_CHECK(x.is_cpu() && x.scalar_type() == at::kFloat, "products of eight bits want float32 on the CPU, not ", x.toString());
  const int64_t I = weight.size(1), N = x.numel() / I;
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = weight.size(0);
  if (N == 0) return at::empty(shape, x.options());
  const auto &packed = static_cast<OpaqueWeight *>(weight.unsafeGetTensorImpl())->opaque_handle();
  return packed->linear(x.contiguous().view({N, I}), bias_O, relu).view(shape);
}

}  // namespace ap

using namespace ap;

extern "C" {

ap_error ap_pack_int8(ap_tensor weight, ap_tensor *out) {
  return guard([&] { *out = wrap(pack_int8(get(weight))); });
}

}  // extern "C"
