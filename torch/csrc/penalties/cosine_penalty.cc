// What the rows w_i of a matrix pay for pointing the same way:
//
//   value = weight / V^2 * sum_{i != j} cos(w_i, w_j) = weight / V^2 * (|t|^2 - R),    t = sum_i w_i / |w_i|
//
// where a row of zeros points nowhere: it is left out of t and of R, the number
// of rows that do point. So it takes one pass over the matrix, and the gradient,
//
//   dw_i = 2 weight / V^2 / |w_i| (t - c_i w_i / |w_i|),    c_i = t . w_i / |w_i|
//
// another. It stands at right angles to w_i.
//
// The rows may be given by their coordinates, w_i = B x_i with B = basis diag(scale).
// Then the matrix is not needed, for lengths and angles follow from the metric
// M_KK = B^T B: with y_i = M x_i, t = sum_i x_i / |w_i| and a = M t,
//
//   |w_i|^2 = x_i . y_i,    |sum_i w_i / |w_i||^2 = t . a,    c_i = a . x_i / |w_i|
//   dx_i = 2 weight / V^2 / |w_i| (a - c_i y_i / |w_i|)
//   dM   = weight / V^2 (t t^T - sum_i c_i / |w_i|^2 x_i x_i^T)
//
// A matrix as it is has M = I: y_i = x_i and a = t. Sums over rows are made in
// double: where the rows point everywhere, |t|^2 is far smaller than R. They are
// cut into blocks that do not depend on threads, and so is the result.
//
// Legend: V rows, K coordinates, S rows of a slab.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cmath>

#include "api_cosine_penalty.h"
#include "border/common.h"
#include "border/operator.h"
#include "devices/isa.h"

namespace ap {
namespace {

constexpr int64_t kSlab = 4096;  // rows whose y exist at a time
constexpr int64_t kDeviceSlab = 1 << 16;  // the same on an accelerator
constexpr int64_t kBlock = 256;  // rows whose part of t is summed by one thread
constexpr double kShortest = 1e-12;  // what is no longer counts as zero

AP_KERNEL(double, dot, const float *x, const float *y, int64_t K) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t k = 0; k < K; ++k) sum += static_cast<double>(x[k]) * y[k];
  return sum;
}

AP_KERNEL(double, dot_double, const double *a, const float *x, int64_t K) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t k = 0; k < K; ++k) sum += a[k] * x[k];
  return sum;
}

AP_KERNEL(void, add_scaled, double *t, const float *x, double factor, int64_t K) {
#pragma omp simd
  for (int64_t k = 0; k < K; ++k) t[k] += factor * x[k];
}

AP_KERNEL(void, combine, float *out, const double *a, const float *y, double of_a, double of_y, int64_t K) {
#pragma omp simd
  for (int64_t k = 0; k < K; ++k) out[k] = static_cast<float>(of_a * a[k] + of_y * y[k]);
}

// 1 / |w| of a row, or 0 where it points nowhere; what is no number stays none.
inline double inverse(double square) { return square <= kShortest * kShortest ? 0 : 1 / std::sqrt(square); }

// Rows are worked on in float32 on the CPU, else by libtorch's own operators in float64.
bool is_fast(const at::Tensor &x_VK) { return x_VK.is_cpu() && x_VK.scalar_type() == at::kFloat; }

// Calls f for slabs of x and of y = x M, with the first row's index.
template <class F>
void each_slab(const at::Tensor &x_VK, const at::Tensor &m_KK, F f) {
  const at::ScalarType type = is_fast(x_VK) ? at::kFloat : at::kDouble;
  const at::Tensor metric = m_KK.defined() ? m_KK.to(type) : at::Tensor();
  const int64_t slab = x_VK.is_cpu() ? kSlab : kDeviceSlab;
  for (int64_t start = 0; start < x_VK.size(0); start += slab) {
    const at::Tensor x_SK = x_VK.narrow(0, start, std::min(slab, x_VK.size(0) - start)).to(type);
    f(start, x_SK, metric.defined() ? at::mm(x_SK, metric) : x_SK);
  }
}

// Writes 1 / |w_i| of a slab's rows and adds x_i / |w_i| to t.
void add_directions(const at::Tensor &x_SK, const at::Tensor &y_SK, at::Tensor inverse_S, at::Tensor t_K) {
  if (!is_fast(x_SK)) {
    const at::Tensor square_S = (x_SK * y_SK).sum(1);
    inverse_S.copy_(at::where(square_S <= kShortest * kShortest, 0.0, square_S.rsqrt()));
    t_K.add_(at::mv(x_SK.t(), inverse_S));
    return;
  }
  const int64_t S = x_SK.size(0), K = x_SK.size(1), blocks = (S + kBlock - 1) / kBlock;
  const at::Tensor part_BK = at::zeros({blocks, K}, t_K.options());
  const float *x = x_SK.const_data_ptr<float>(), *y = y_SK.const_data_ptr<float>();
  double *lengths = inverse_S.mutable_data_ptr<double>(), *part = part_BK.mutable_data_ptr<double>();
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * kBlock; i < std::min(end * kBlock, S); ++i) {
      lengths[i] = inverse(dot(x + i * K, y + i * K, K));
      add_scaled(part + i / kBlock * K, x + i * K, lengths[i], K);
    }
  });
  t_K.add_(part_BK.sum(0));
}

// Writes the gradient factor / |w_i| (a - c_i y_i / |w_i|) of a slab's rows, and gives c_i / |w_i|^2. The factor has no
// dimensions.
at::Tensor turn(const at::Tensor &x_SK, const at::Tensor &y_SK, const at::Tensor &inverse_S, const at::Tensor &a_K, const at::Tensor &factor_,
                at::Tensor g_SK) {
  if (!is_fast(x_SK)) {
    const at::Tensor weight_S = at::mv(x_SK, a_K) * inverse_S.pow(3);
    g_SK.copy_((at::outer(inverse_S, a_K) - y_SK * weight_S.unsqueeze(1)) * factor_);
    return weight_S;
  }
  const int64_t S = x_SK.size(0), K = x_SK.size(1);
  const double factor = factor_.item<double>();
  const at::Tensor weight_S = at::empty({S}, x_SK.options());
  const float *x = x_SK.const_data_ptr<float>(), *y = y_SK.const_data_ptr<float>();
  const double *lengths = inverse_S.const_data_ptr<double>(), *a = a_K.const_data_ptr<double>();
  float *g = g_SK.mutable_data_ptr<float>(), *weights = weight_S.mutable_data_ptr<float>();
  at::parallel_for(0, S, kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double length = lengths[i], weight = dot_double(a, x + i * K, K) * length * length * length;
      combine(g + i * K, a, y + i * K, factor * length, -factor * weight, K);
      weights[i] = static_cast<float>(weight);
    }
  });
  return weight_S;
}

// Of the rows, and of the metric or an undefined tensor.
class CosinePenalty : public Operator {
 public:
  explicit CosinePenalty(double weight) : weight_(weight) {}

  Tensors forward(const Tensors &operands) override {
    const at::Tensor x_VK = operands[0].contiguous(), &m_KK = operands[1];
    const int64_t V = x_VK.size(0);
    const auto doubles = x_VK.options().dtype(at::kDouble);
    at::Tensor inverse_V = at::empty({V}, doubles), t_K = at::zeros({x_VK.size(1)}, doubles);
    each_slab(x_VK, m_KK, [&](int64_t start, const at::Tensor &x_SK, const at::Tensor &y_SK) {
      add_directions(x_SK, y_SK, inverse_V.narrow(0, start, x_SK.size(0)), t_K);
    });
    const at::Tensor a_K = m_KK.defined() ? at::mv(m_KK.to(at::kDouble), t_K) : t_K;
    factor_ = weight_ / std::max(1.0, static_cast<double>(V) * V);
    const at::Tensor value = (at::dot(t_K, a_K) - inverse_V.count_nonzero()) * factor_;
    save_for_backward({x_VK, m_KK, inverse_V, t_K, a_K});
    return {value.to(x_VK.scalar_type() == at::kDouble ? at::kDouble : at::kFloat)};
  }

  Tensors backward(const Tensors &grads) override {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const Tensors saved = saved_tensors();
    const at::Tensor &x_VK = saved[0], &m_KK = saved[1], &inverse_V = saved[2], &t_K = saved[3], &a_K = saved[4];
    const at::Tensor factor = grads[0].to(at::kDouble) * factor_;
    at::Tensor g_VK = at::empty_like(x_VK), g_KK;
    if (m_KK.defined()) g_KK = at::outer(t_K, t_K).to(is_fast(x_VK) ? at::kFloat : at::kDouble);
    each_slab(x_VK, m_KK, [&](int64_t start, const at::Tensor &x_SK, const at::Tensor &y_SK) {
      const int64_t S = x_SK.size(0);
      const at::Tensor weight_S = turn(x_SK, y_SK, inverse_V.narrow(0, start, S), a_K, factor * 2, g_VK.narrow(0, start, S));
      if (m_KK.defined()) g_KK.addmm_((x_SK * weight_S.unsqueeze(1)).t(), x_SK, 1, -1);
    });
    if (m_KK.defined()) g_KK = g_KK.mul_(factor).to(m_KK.scalar_type());
    return {g_VK, g_KK};
  }

 private:
  double weight_, factor_ = 0;
};

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_cosine_penalty(ap_tensor rows, ap_tensor scale, ap_tensor basis, double weight, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &x = get(rows);
    TORCH_CHECK(x.dim() == 2, "a matrix is needed, not a tensor of shape ", x.sizes());
    // Angles between vectors are lost in bfloat16.
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    at::Tensor metric;
    if (scale) {
      const at::Tensor &s = get(scale), &b = get(basis);
      TORCH_CHECK(s.dim() == 1 && b.dim() == 2 && s.size(0) == x.size(1) && b.size(1) == x.size(1), "scales of shape ", s.sizes(),
                  " and a basis of shape ", b.sizes(), " do not fit rows of shape ", x.sizes());
      const at::Tensor scaled = b * s;
      metric = at::mm(scaled.t(), scaled);
    }
    *out = wrap(recorded<CosinePenalty>({x, metric}, weight)[0]);
  });
}
