// Residual connection of a post-norm layer in one pass:
//   y = LayerNorm(residual + dropout(x)) * gain + bias.
// Kept for the backward pass: the sum z [N,D], and mean and 1/std by row [N].
// The dropout mask is drawn again.
//
// Legend: N rows, D width.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <cmath>

#include "api_residual_norm.h"
#include "border/common.h"
#include "border/operator.h"
#include "dropout.h"
#include "devices/isa.h"

namespace ap {
namespace {

AP_KERNEL(void, forward_rows, const float *x, const float *residual, const float *gain, const float *bias, float *z, float *y, float *mean,
          float *rstd, int64_t begin, int64_t end, int64_t D, float eps, uint32_t threshold, float scale, uint32_t a, uint32_t b) {
  DrawKey key(0, 0);
  key.a = a;
  key.b = b;
  for (int64_t n = begin; n < end; ++n) {
    const float *xr = x + n * D, *rr = residual + n * D;
    float *zr = z + n * D, *yr = y + n * D;
    const uint32_t first = static_cast<uint32_t>(n * D);
    float sum = 0;
    if (threshold == 0) {
#pragma omp simd reduction(+ : sum)
      for (int64_t d = 0; d < D; ++d) {
        zr[d] = rr[d] + xr[d];
        sum += zr[d];
      }
    } else {
#pragma omp simd reduction(+ : sum)
      for (int64_t d = 0; d < D; ++d) {
        const float dropped = bits32(first + static_cast<uint32_t>(d), key) < threshold ? 0.0f : xr[d] * scale;
        zr[d] = rr[d] + dropped;
        sum += zr[d];
      }
    }
    const float m = sum / D;
    float square = 0;
#pragma omp simd reduction(+ : square)
    for (int64_t d = 0; d < D; ++d) square += (zr[d] - m) * (zr[d] - m);
    const float r = 1 / std::sqrt(square / D + eps);
#pragma omp simd
    for (int64_t d = 0; d < D; ++d) yr[d] = (zr[d] - m) * r * gain[d] + bias[d];
    mean[n] = m;
    rstd[n] = r;
  }
}

AP_KERNEL(void, backward_rows, const float *gy, const float *z, const float *gain, const float *mean, const float *rstd, float *gz, float *gx,
          float *ggain, float *gbias, int64_t begin, int64_t end, int64_t D, uint32_t threshold, float scale, uint32_t a, uint32_t b) {
  DrawKey key(0, 0);
  key.a = a;
  key.b = b;
  for (int64_t n = begin; n < end; ++n) {
    const float *g = gy + n * D, *zr = z + n * D;
    float *gzr = gz + n * D;
    const float m = mean[n], r = rstd[n];
    float sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
    for (int64_t d = 0; d < D; ++d) {
      const float normal = (zr[d] - m) * r, weighted = g[d] * gain[d];
      sum += weighted;
      dot += weighted * normal;
      ggain[d] += g[d] * normal;
      gbias[d] += g[d];
    }
    sum /= D;
    dot /= D;
#pragma omp simd
    for (int64_t d = 0; d < D; ++d) gzr[d] = r * (g[d] * gain[d] - sum - (zr[d] - m) * r * dot);
    if (threshold == 0) continue;  // gx is gz
    float *gxr = gx + n * D;
    const uint32_t first = static_cast<uint32_t>(n * D);
#pragma omp simd
    for (int64_t d = 0; d < D; ++d) gxr[d] = bits32(first + static_cast<uint32_t>(d), key) < threshold ? 0.0f : gzr[d] * scale;
  }
}

class ResidualNorm : public Operator {
 public:
  ResidualNorm(double eps, double p, DrawKey key) : eps_(eps), p_(p), key_(key) {}

  Tensors forward(const Tensors &operands) override {
    const at::Tensor x = operands[0].contiguous(), residual = operands[1].contiguous(), gain = operands[2].contiguous(),
                     bias = operands[3].contiguous();
    const int64_t D = x.size(-1), N = x.numel() / D;
    at::Tensor z = at::empty_like(x), y = at::empty_like(x);
    at::Tensor mean = at::empty({N}, x.options()), rstd = at::empty({N}, x.options());
    at::parallel_for(0, N, std::max<int64_t>(1, 16384 / D), [&](int64_t begin, int64_t end) {
      forward_rows(x.const_data_ptr<float>(), residual.const_data_ptr<float>(), gain.const_data_ptr<float>(), bias.const_data_ptr<float>(),
                   z.mutable_data_ptr<float>(), y.mutable_data_ptr<float>(), mean.mutable_data_ptr<float>(), rstd.mutable_data_ptr<float>(), begin,
                   end, D, static_cast<float>(eps_), drop_threshold(p_), static_cast<float>(1 / (1 - p_)), key_.a, key_.b);
    });
    save_for_backward({z, mean, rstd, gain});
    return {y};
  }

  Tensors backward(const Tensors &grads) override {
    const Tensors saved = saved_tensors();
    const at::Tensor &z = saved[0], &mean = saved[1], &rstd = saved[2], &gain = saved[3];
    const at::Tensor gy = grads[0].contiguous();
    const int64_t D = z.size(-1), N = z.numel() / D;
    const int threads = at::get_num_threads();
    at::Tensor gz = at::empty_like(z), gx = drop_threshold(p_) > 0 ? at::empty_like(z) : gz;
    // One row of sums a thread, added up in the order of the threads.
    at::Tensor ggain = at::zeros({threads, D}, z.options()), gbias = at::zeros({threads, D}, z.options());
    at::parallel_for(0, N, std::max<int64_t>(1, 16384 / D), [&](int64_t begin, int64_t end) {
      const int64_t row = at::get_thread_num() * D;
      backward_rows(gy.const_data_ptr<float>(), z.const_data_ptr<float>(), gain.const_data_ptr<float>(), mean.const_data_ptr<float>(),
                    rstd.const_data_ptr<float>(), gz.mutable_data_ptr<float>(), gx.mutable_data_ptr<float>(),
                    ggain.mutable_data_ptr<float>() + row, gbias.mutable_data_ptr<float>() + row, begin, end, D, drop_threshold(p_),
                    static_cast<float>(1 / (1 - p_)), key_.a, key_.b);
    });
    return {gx, gz, ggain.sum(0), gbias.sum(0)};
  }

 private:
  double eps_, p_;
  DrawKey key_;
};

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_residual_norm(ap_tensor x, ap_tensor residual, ap_tensor gain, ap_tensor bias, double eps, double p, uint64_t seed,
                                     uint64_t offset, ap_tensor *out) {
  return guard([&] {
    check_dropout(p);
    const DrawKey key(seed, offset);
    const at::IntArrayRef sizes = get(x).sizes();
    TORCH_CHECK(sizes == get(residual).sizes(), "the sub-layer's output has shape ", sizes, ", the residual ", get(residual).sizes());
    TORCH_CHECK(!sizes.empty() && sizes.back() > 0, "there is no last dimension to normalise in shape ", sizes);
    TORCH_CHECK(get(gain).sizes() == sizes.slice(sizes.size() - 1) && get(bias).sizes() == sizes.slice(sizes.size() - 1),
                "a last dimension of ", sizes.back(), " does not fit a gain of shape ", get(gain).sizes(), " and a bias of shape ", get(bias).sizes());
    const Tensors operands{get(x), get(residual), get(gain), get(bias)};
    *out = wrap(recorded<ResidualNorm>(operands, eps, p, key)[0]);
  });
}
