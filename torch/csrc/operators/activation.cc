// GELU by a hyperbolic tangent (Hendrycks and Gimpel 2016), x (1 + tanh z) / 2 for z = sqrt(2 / pi) (x + 0.044715 x^3),
// on the CPU in float32 and bfloat16. (1 + tanh z) / 2 is the logistic function of 2 z, which costs an exponential,
// where libtorch calls a tangent that is good to the last bit.
#include "activation.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include "border/operator.h"
#include "devices/bfloat16.h"
#include "devices/isa.h"
#include "recurrent/gates.h"

namespace ap {
namespace {

constexpr int64_t kElements = 1 << 13;         // of a thread, at least
constexpr float kSlope = 1.5957691216057308f;  // 2 sqrt(2 / pi)
constexpr float kCube = 0.044715f;
constexpr float kFar = 16;                     // GELU is 0 or x here and beyond, to the last digit

// logistic() never gives quite 0, so that a huge negative number times it would not be 0.
inline float gelu_of(float given) {
  const float x = given < -kFar ? -kFar : given;
  return x * logistic(kSlope * (x + kCube * x * x * x));
}

// The square of a huge number would make something else of a slope of 0 or 1.
inline float gelu_slope(float given) {
  const float x = given < -kFar ? -kFar : given > kFar ? kFar : given;
  const float s = logistic(kSlope * (x + kCube * x * x * x));
  return s + x * s * (1 - s) * kSlope * (1 + 3 * kCube * x * x);
}

AP_KERNEL(void, gelu_float, const float *x, float *y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = gelu_of(x[i]);
}

AP_KERNEL(void, gelu_bfloat16, const uint16_t *x, uint16_t *y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = bfloat16_of(gelu_of(float_of(x[i])));
}

AP_KERNEL(void, gelu_back_float, const float *x, const float *gy, float *gx, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) gx[i] = gy[i] * gelu_slope(x[i]);
}

AP_KERNEL(void, gelu_back_bfloat16, const uint16_t *x, const uint16_t *gy, uint16_t *gx, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) gx[i] = bfloat16_of(float_of(gy[i]) * gelu_slope(float_of(x[i])));
}

template <class T>
const T *numbers(const at::Tensor &x) {
  return static_cast<const T *>(x.const_data_ptr());
}

template <class T>
T *numbers_to_write(at::Tensor &x) {
  return static_cast<T *>(x.mutable_data_ptr());
}

class GELUTanh : public Operator {
 public:
  Tensors forward(const Tensors &operands) override {
    const at::Tensor x = operands[0].contiguous();
    at::Tensor y = at::empty_like(x);
    at::parallel_for(0, x.numel(), kElements, [&](int64_t begin, int64_t end) {
      if (x.scalar_type() == at::kFloat)
        gelu_float(numbers<float>(x) + begin, numbers_to_write<float>(y) + begin, end - begin);
      else
        gelu_bfloat16(numbers<uint16_t>(x) + begin, numbers_to_write<uint16_t>(y) + begin, end - begin);
    });
    save_for_backward({x});
    return {y};
  }

  Tensors backward(const Tensors &grads) override {
    const at::Tensor x = saved_tensors()[0], gy = grads[0].contiguous();
    at::Tensor gx = at::empty_like(x);
    at::parallel_for(0, x.numel(), kElements, [&](int64_t begin, int64_t end) {
      if (x.scalar_type() == at::kFloat)
        gelu_back_float(numbers<float>(x) + begin, numbers<float>(gy) + begin, numbers_to_write<float>(gx) + begin, end - begin);
      else
        gelu_back_bfloat16(numbers<uint16_t>(x) + begin, numbers<uint16_t>(gy) + begin, numbers_to_write<uint16_t>(gx) + begin, end - begin);
    });
    return {gx};
  }
};

}  // namespace

at::Tensor gelu_tanh(const at::Tensor &x) {
  if (!x.is_cpu() || (x.scalar_type() != at::kFloat && x.scalar_type() != at::kBFloat16)) return at::gelu(x, "tanh");
  return recorded<GELUTanh>({x})[0];
}

}  // namespace ap
