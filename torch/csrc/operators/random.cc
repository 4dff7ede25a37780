// Random tensors and dropout from counter-based streams.
//
// libtorch's own bernoulli_ on the CPU runs one serial Mersenne twister; here
// the mask is computed where it is used, on all threads, and again in the
// backward pass, so it is never kept.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/util/BFloat16-math.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "api_random.h"
#include "border/common.h"
#include "border/operator.h"
#include "dropout.h"
#include "devices/bfloat16.h"
#include "devices/isa.h"
#include "vector_normal.h"

namespace ap {
namespace {

constexpr int64_t kGrain = 1 << 14;

AP_KERNEL(void, dropout_float, const float *x, float *out, int64_t begin, int64_t end, uint32_t threshold, float scale, uint32_t a, uint32_t b) {
  DrawKey key(0, 0);
  key.a = a;
  key.b = b;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) out[i] = bits32(static_cast<uint32_t>(i), key) < threshold ? 0.0f : x[i] * scale;
}

AP_KERNEL(void, dropout_bfloat16, const uint16_t *x, uint16_t *out, int64_t begin, int64_t end, uint32_t threshold, float scale, uint32_t a,
          uint32_t b) {
  DrawKey key(0, 0);
  key.a = a;
  key.b = b;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) out[i] = bits32(static_cast<uint32_t>(i), key) < threshold ? 0 : bfloat16_of(float_of(x[i]) * scale);
}

AP_KERNEL(void, noise_float, float *out, int64_t begin, int64_t end, float deviation, uint32_t a, uint32_t b) {
  DrawKey key(0, 0);
  key.a = a;
  key.b = b;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) out[i] = deviation * normal_draw(static_cast<uint32_t>(i), key);
}

// libtorch's dropout on an accelerator: one operator, which keeps a byte for each element, and one for the gradient. It
// draws from the device's own generator, which is seeded for this draw; nothing else draws from it.
at::Tensor device_dropout(const at::Tensor &x, double p, DrawKey key) {
  TORCH_CHECK(x.is_floating_point(), "elements of type ", x.scalar_type(), " cannot be scaled");
  at::Generator generator = at::globalContext().defaultGenerator(x.device());
  {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_current_seed(key.seed());
  }
  return std::get<0>(at::native_dropout(x, p, true));
}

}  // namespace

// On an accelerator masks and noise come from libtorch's generator of that device, seeded for this draw.
at::Generator device_generator(const at::Tensor &x, DrawKey key) {
  at::Generator generator = at::globalContext().defaultGenerator(x.device()).clone();
  generator.set_current_seed(key.seed());
  return generator;
}

namespace {

// to_i = from_i * keep_i / (1 - p) on the CPU; both are contiguous and may be one.
void drop(const at::Tensor &x, at::Tensor &out, double p, DrawKey key) {
  const uint32_t threshold = drop_threshold(p);
  const double scale = 1 / (1 - p);
  if (x.scalar_type() == at::kFloat) {
    const float *from = x.const_data_ptr<float>();
    float *to = out.mutable_data_ptr<float>();
    at::parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
      dropout_float(from, to, begin, end, threshold, static_cast<float>(scale), key.a, key.b);
    });
    return;
  }
  if (x.scalar_type() == at::kBFloat16) {
    const auto *from = reinterpret_cast<const uint16_t *>(x.const_data_ptr<at::BFloat16>());
    auto *to = reinterpret_cast<uint16_t *>(out.mutable_data_ptr<at::BFloat16>());
    at::parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
      dropout_bfloat16(from, to, begin, end, threshold, static_cast<float>(scale), key.a, key.b);
    });
    return;
  }
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "dropout", [&] {
    const scalar_t *from = x.const_data_ptr<scalar_t>();
    scalar_t *to = out.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = bits32(static_cast<uint32_t>(i), key) < threshold ? scalar_t(0) : static_cast<scalar_t>(static_cast<double>(from[i]) * scale);
    });
  });
}

}  // namespace

at::Tensor apply_dropout(const at::Tensor &x, double p, DrawKey key) {
  at::Tensor out = at::empty_like(x);
  drop(x, out, p, key);
  return out;
}

void apply_dropout_(at::Tensor &x, double p, DrawKey key) { drop(x, x, p, key); }

namespace {

class Dropout : public Operator {
 public:
  Dropout(double p, DrawKey key) : p_(p), key_(key) {}
  Tensors forward(const Tensors &operands) override { return {apply_dropout(operands[0].contiguous(), p_, key_)}; }
  Tensors backward(const Tensors &grads) override { return {apply_dropout(grads[0].contiguous(), p_, key_)}; }

 private:
  double p_;
  DrawKey key_;
};

// A double in [0, 1) with 53 random bits for element i.
inline double unit(uint64_t seed, uint64_t offset, int64_t i) {
  const uint64_t word = mix64(mix64(seed ^ mix64(offset)) + static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15ull);
  return static_cast<double>(word >> 11) * 0x1.0p-53;
}

template <class F>
at::Tensor fill(int dtype, at::IntArrayRef shape, const char *device, F value) {
  at::Tensor x = at::empty(shape, at::TensorOptions().dtype(at::kDouble));
  double *data = x.mutable_data_ptr<double>();
  at::parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) data[i] = value(i);
  });
  return moved(x, at::Device(device), static_cast<at::ScalarType>(dtype));
}

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" {

ap_error ap_random_uniform(uint64_t seed, uint64_t offset, double low, double high, int dtype, const int64_t *shape, int rank, const char *device,
                           ap_tensor *out) {
  return guard([&] {
    TORCH_CHECK(low <= high, "the range [", low, ", ", high, ") is empty");
    // The largest value of that type below high: rounding must not reach high itself.
    double most = std::nextafter(high, low);
    if (dtype == static_cast<int>(at::kFloat)) most = std::nextafter(static_cast<float>(high), static_cast<float>(low));
    if (dtype == static_cast<int>(at::kBFloat16)) most = std::nextafter(static_cast<at::BFloat16>(high), static_cast<at::BFloat16>(low));
    if (dtype == static_cast<int>(at::kHalf)) most = std::nextafter(static_cast<at::Half>(high), static_cast<at::Half>(low));
    *out = wrap(fill(dtype, shape_of(shape, rank), device,
                     [&](int64_t i) { return std::min(low + (high - low) * unit(seed, offset, i), most); }));
  });
}

ap_error ap_random_normal(uint64_t seed, uint64_t offset, double mean, double stddev, int dtype, const int64_t *shape, int rank, const char *device,
                          ap_tensor *out) {
  return guard([&] {
    // Box and Muller (1958); one of the pair is thrown away for a plain counter.
    *out = wrap(fill(dtype, shape_of(shape, rank), device, [&](int64_t i) {
      const double radius = std::sqrt(-2 * std::log(1 - unit(seed, offset, 2 * i)));
      return mean + stddev * radius * std::cos(2 * M_PI * unit(seed, offset, 2 * i + 1));
    }));
  });
}

ap_error ap_noise(ap_tensor x, double deviation, uint64_t seed, uint64_t offset, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &plain = get(x);
    if (!plain.is_cpu()) {
      *out = wrap(plain + at::empty(plain.sizes(), plain.options()).normal_(0, deviation, device_generator(plain, DrawKey(seed, offset))));
      return;
    }
    at::Tensor noise = at::empty(plain.sizes(), at::TensorOptions().dtype(at::kFloat));
    const DrawKey key(seed, offset);
    float *data = noise.mutable_data_ptr<float>();
    at::parallel_for(0, noise.numel(), kGrain, [&](int64_t begin, int64_t end) {
      noise_float(data, begin, end, static_cast<float>(deviation), key.a, key.b);
    });
    *out = wrap(plain + noise.to(plain.scalar_type()));
  });
}

ap_error ap_dropout(ap_tensor x, double p, uint64_t seed, uint64_t offset, ap_tensor *out) {
  return guard([&] {
    check_dropout(p);
    const DrawKey key(seed, offset);
    const at::Tensor &plain = get(x);
    *out = wrap(plain.is_cpu() ? recorded<Dropout>({plain}, p, key)[0] : device_dropout(plain.contiguous(), p, key));
  });
}

ap_error ap_dropout_mask(double p, uint64_t seed, uint64_t offset, int dtype, const int64_t *shape, int rank, const char *device, ap_tensor *out) {
  return guard([&] {
    check_dropout(p);
    const DrawKey key(seed, offset);
    at::Tensor mask = at::empty(shape_of(shape, rank), options(dtype, device));
    if (mask.is_cpu())
      apply_dropout_(mask.fill_(1), p, key);
    else
      mask.bernoulli_(1 - p, device_generator(mask, key)).mul_(1 / (1 - p));
    *out = wrap(mask);
  });
}

}  // extern "C"
