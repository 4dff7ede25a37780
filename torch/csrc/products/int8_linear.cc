// Products with weights of eight bits: by panels of our own where the processor has VNNI
// (int8_panels.h), elsewhere by the quantised linear operators that libtorch has from
// fbgemm and oneDNN.
//
// Of these a column of the weights (a row of W) has a scale of its own. The operator finds one
// scale for all of its input, which would let a row's result depend on the rows beside
// it. So each row is divided by its largest size first, and a row that holds 1 and -1 is
// put behind the others: then the range is always [-1, 1], a row has all eight bits for
// itself, and since sums of integers are exact its result is the same in any company.
//
// Legend: N rows, I inputs, O outputs.
#include <ATen/ATen.h>
#include <ATen/OpaqueTensorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue_inl.h>
#include <ATen/native/quantized/PackedParams.h>

#include <algorithm>
#include <vector>

#include "api_packed_linear.h"
#include "border/common.h"
#include "devices/isa.h"
#include "int8_panels.h"
#include "largest_size.h"
#include "packed_linear.h"
#include "products.h"

namespace ap {
namespace {

using OpaqueWeight = at::OpaqueTensorImpl<c10::intrusive_ptr<Int8Weight>>;

// to = x / m, and returns m, the largest size in x. A row with a number that is none, or
// infinite, becomes zeros and returns NaN, so that it spoils no other.
AP_KERNEL(float, to_unit_row, const float *x, int64_t n, float *to) {
  const float most = largest_size(x, n);
  if (!(most > 0)) {
    for (int64_t i = 0; i < n; ++i) to[i] = 0;
    return most;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = x[i] / most;
  return most;
}

// y = y * m + bias, then max(0, y) where relu is set.
AP_KERNEL(void, from_unit_row, float *y, int64_t n, float m, const float *bias, bool relu) {
  if (bias) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = y[i] * m + bias[i];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] *= m;
  }
  if (!relu) return;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] < 0 ? 0 : y[i];
}

// The better of what this libtorch has for processors without VNNI (docs/results/speed.md).
at::QEngine engine() {
  const auto &there = at::globalContext().supportedQEngines();
  for (const at::QEngine e : {at::QEngine::FBGEMM, at::QEngine::ONEDNN})
    if (std::find(there.begin(), there.end(), e) != there.end()) return e;
  return at::QEngine::NoQEngine;
}

constexpr int64_t kGrain = 1 << 14;  // elements

class LibraryWeight : public Int8Weight {
 public:
  explicit LibraryWeight(const at::Tensor &w_OI);
  at::Tensor linear(const at::Tensor &x_NI, const at::Tensor &bias_O, bool relu) const override;

 private:
  c10::intrusive_ptr<LinearPackedParamsBase> params_;
};

LibraryWeight::LibraryWeight(const at::Tensor &w) {
  const at::QEngine library = engine();
  TORCH_CHECK(library != at::QEngine::NoQEngine, "this libtorch was built without products of eight bits");
  at::Tensor scale_O = w.abs().amax(1).to(at::kDouble).div_(127);
  scale_O.masked_fill_(scale_O == 0, 1);
  const at::Tensor q_OI = at::quantize_per_channel(w, scale_O, at::zeros({w.size(0)}, at::kLong), 0, at::kQInt8);
  at::globalContext().setQEngine(library);
  static const auto prepack = c10::Dispatcher::singleton().findSchemaOrThrow("quantized::linear_prepack", "");
  torch::jit::Stack stack{q_OI, c10::IValue()};
  prepack.callBoxed(stack);
  params_ = stack[0].toCustomClass<LinearPackedParamsBase>();
}

at::Tensor LibraryWeight::linear(const at::Tensor &x_NI, const at::Tensor &bias_O, bool relu) const {
  const int64_t N = x_NI.size(0), I = x_NI.size(1);
  at::Tensor unit = at::empty({N + 1, I}, x_NI.options());
  float *rows = unit.mutable_data_ptr<float>();
  std::vector<float> most(N);
  at::parallel_for(0, N, std::max<int64_t>(1, kGrain / I), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) most[n] = to_unit_row(x_NI.const_data_ptr<float>() + n * I, I, rows + n * I);
  });
  std::fill_n(rows + N * I, I, 0.0f);
  rows[N * I] = 1, rows[N * I + 1] = -1;
  at::Tensor y;
  {
    const ProductTimer timer;
    y = params_->apply_dynamic(unit, true);  // seven bits: pairs of products are summed in 16
  }
  const int64_t O = y.size(1);
  float *to = y.mutable_data_ptr<float>();
  at::parallel_for(0, N, std::max<int64_t>(1, kGrain / O), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) from_unit_row(to + n * O, O, most[n], bias_O.defined() ? bias_O.const_data_ptr<float>() : nullptr, relu);
  });
  return y.narrow(0, 0, N);
}

}  // namespace

bool is_int8(const at::Tensor &weight) { return weight.scalar_type() == at::kQInt8; }

at::Tensor pack_int8(const at::Tensor &weight_OI, bool by_library) {
  TORCH_CHECK(weight_OI.dim() == 2 && weight_OI.size(0) > 0 && weight_OI.size(1) > 1 && weight_OI.is_cpu() && weight_OI.scalar_type() == at::kFloat,
              "only float32 matrices on the CPU of two or more columns are packed to eight bits, not ", weight_OI.toString(), " of shape ", weight_OI.sizes());
  at::NoGradGuard no_grad;
  const at::Tensor w_OI = weight_OI.detach().contiguous();
  c10::intrusive_ptr<Int8Weight> weight;
  if (has_vnni() && !by_library)
    weight = int8_panels(w_OI);
  else
    weight = c10::make_intrusive<LibraryWeight>(w_OI);
  return at::detail::make_tensor<OpaqueWeight>(at::DispatchKeySet(at::DispatchKey::CPU), caffe2::TypeMeta::Make<c10::qint8>(), at::Device(at::kCPU),
                                               std::move(weight), w_OI.sizes());
}

at::Tensor int8_linear(const at::Tensor &x, const at::Tensor &weight, const at::Tensor &bias_O, bool relu) {
  TORCH_CHECK(x.is_cpu() && x.scalar_type() == at::kFloat, "products of eight bits want float32 on the CPU, not ", x.toString());
  const int64_t I = weight.size(1), N = x.numel() / I;
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = weight.size(0);
  if (N == 0) return at::empty(shape, x.options());
  const auto &layout = static_cast<OpaqueWeight *>(weight.unsafeGetTensorImpl())->opaque_handle();
  return layout->linear(x.contiguous().view({N, I}), bias_O, relu).view(shape);
}

}  // namespace ap

using namespace ap;

extern "C" {

const char *ap_int8_engine(void) {
  if (has_vnni()) return "aperture";
  switch (engine()) {
    case at::QEngine::FBGEMM: return "fbgemm";
    case at::QEngine::ONEDNN: return "onednn";
    default: return "";
  }
}

ap_error ap_pack_int8(ap_tensor weight, bool by_library, ap_tensor *out) {
  return guard([&] { *out = wrap(pack_int8(get(weight), by_library)); });
}

}  // extern "C"
