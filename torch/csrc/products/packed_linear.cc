// Products with weights that were laid out beforehand, by oneDNN: its kernels are
// generated for the instructions the processor has, whoever made it, and it keeps
// a weight in the blocks that they read.
//
// For the few rows of a single sentence most of the time went to oneDNN's
// descriptions and memory for each call, and its kernels are slow there: a search
// multiplies these by panels (panels.h).
#include "packed_linear.h"

#include <ATen/OpaqueTensorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <map>
#include <mutex>

#include "api_packed_linear.h"
#include "border/common.h"
#include "devices/isa.h"
#include "step_panels.h"

namespace ap {
namespace {

using Pointwise = at::Tensor(const at::Tensor &, const at::Tensor &, const std::optional<at::Tensor> &, std::string_view,
                             c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);
using Reorder = at::Tensor(const at::Tensor &, std::optional<int64_t>);

template <class Signature>
c10::TypedOperatorHandle<Signature> find(const char *name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

constexpr int64_t usual_rows = 96;  // a layout that suits products with about this many rows

// Rows that panels multiply (docs/results/speed.md). With AVX-512 oneDNN sums up to 96 rows in other blocks than more
// of them.
int64_t few() { return isa() == ISA::avx512 ? 96 : 32; }

constexpr int64_t kAtOnce = 32;  // of these, so that they stay in the second-level cache

// x W^T of N rows by panels whose parts are the blocks of W's columns: each block is summed from zero, as oneDNN does.
void block_sums(const StepPanels &panels, int64_t p, const float *x_NI, int64_t I, float *y, int64_t O, int64_t N) {
  const int64_t n = panels.end(p) - panels.begin(p);
  for (int64_t r = 0; r < N; ++r) std::fill_n(y + r * O, n, 0.0f);
  panels.add_columns(p, 0, x_NI, I, y, O, N);
  if (panels.parts() == 1) return;
  std::vector<float> block(N * n);
  for (int part = 1; part < panels.parts(); ++part) {
    std::fill(block.begin(), block.end(), 0.0f);
    panels.add_columns(p, part, x_NI + panels.first(part), I, block.data(), n, N);
    for (int64_t r = 0; r < N; ++r)
      for (int64_t o = 0; o < n; ++o) y[r * O + o] += block[r * n + o];
  }
}

// W [O,I] as panels whose parts are blocks of `block` inputs.
StepPanels panels_in_blocks(const at::Tensor &w_OI, int64_t block) {
  return StepPanels::of_columns(w_OI.t().split(block));
}

// How many inputs oneDNN sums at a time for more than few() rows, with AVX-512: whatever their number, but by the
// shape [O,I] of the weight. A product by panels with the same blocks has the same bits. They are found by trying; 0
// where none of those known is right.
int64_t blocks_of_onednn(int64_t O, int64_t I) {
  static std::mutex mutex;
  static std::map<std::pair<int64_t, int64_t>, int64_t> found;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto known = found.find({O, I}); known != found.end()) return known->second;
  const int64_t tried_O = std::min<int64_t>(O, 64);  // outputs that are compared
  const at::Tensor x_NI = at::arange((few() + 1) * I, at::kDouble).mul(1.3).sin().to(at::kFloat).view({few() + 1, I});
  // A weight of its own, since zeros or NaN in the caller's would say nothing of the blocks.
  const at::Tensor w_TI = at::arange(tried_O * I, at::kDouble).mul(0.7).cos().to(at::kFloat).view({tried_O, I});
  const at::Tensor w_OI = w_TI.repeat({(O + tried_O - 1) / tried_O, 1}).narrow(0, 0, O);
  const at::Tensor want = packed_linear(x_NI, pack_weight(w_OI), {}, false).narrow(0, 0, kAtOnce).narrow(1, 0, tried_O);
  int64_t &block = found[{O, I}] = 0;
  for (const int64_t tried : {I, int64_t{1024}, int64_t{512}, int64_t{256}, (I + 1) / 2}) {
    const StepPanels panels = panels_in_blocks(w_TI, tried);
    const at::Tensor got = at::empty({kAtOnce, tried_O}, x_NI.options());
    for (int64_t p = 0; p < panels.count(); ++p)
      block_sums(panels, p, x_NI.const_data_ptr<float>(), I, got.mutable_data_ptr<float>() + panels.begin(p), tried_O, kAtOnce);
    if (at::equal(got, want)) return block = tried;
  }
  return block;
}

// The weight of a search, laid out in each of two ways when it is first multiplied so.
class Searched : public c10::intrusive_ptr_target {
 public:
  explicit Searched(at::Tensor w_OI) : w_OI_(std::move(w_OI)) {}

  // For few rows; null where these would give a row other bits than it has among many.
  const StepPanels *panels() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!tried_) {
      tried_ = true;
      // With AVX2 oneDNN's own sums are other ones for other rows.
      const bool alike = isa() == ISA::avx512 && at::globalContext().hasMKLDNN() && w_OI_.numel() > 0;
      const int64_t block = alike ? blocks_of_onednn(w_OI_.size(0), w_OI_.size(1)) : w_OI_.size(1);
      if (block > 0) panels_ = panels_in_blocks(w_OI_, block);
    }
    drop_plain();
    return panels_.filled() ? &panels_ : nullptr;
  }

  const at::Tensor &blocks() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!blocks_.defined()) blocks_ = pack_weight(w_OI_);
    return drop_plain(), blocks_;
  }

 private:
  void drop_plain() {
    if (tried_ && blocks_.defined()) w_OI_.reset();
  }

  std::mutex mutex_;
  bool tried_ = false;        // to make panels
  at::Tensor w_OI_, blocks_;  // as it lies, while a layout is still to be made of it; as oneDNN has it
  StepPanels panels_;
};

using OpaqueSearched = at::OpaqueTensorImpl<c10::intrusive_ptr<Searched>>;

bool is_searched(const at::Tensor &weight) { return weight.layout() == at::kStrided && !weight.has_storage(); }

void check_packable(const at::Tensor &weight_OI) {
  TORCH_CHECK(weight_OI.dim() == 2 && weight_OI.is_cpu() && weight_OI.scalar_type() == at::kFloat,
              "only float32 matrices on the CPU are packed, not ", weight_OI.toString(), " of shape ", weight_OI.sizes());
}

// x_NI W^T + b, then max(0, .) where relu is set, of N <= few() rows.
at::Tensor few_rows(const at::Tensor &x, const StepPanels &panels, int64_t O, const at::Tensor &bias, bool relu) {
  TORCH_CHECK(x.is_cpu() && x.scalar_type() == at::kFloat, "a packed weight wants float32 on the CPU, not ", x.toString());
  const int64_t I = x.size(-1), N = x.numel() / I;
  const at::Tensor x_NI = x.contiguous();
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = O;
  at::Tensor y = at::empty(shape, x.options());
  const float *from = x_NI.const_data_ptr<float>(), *b = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  float *to = y.mutable_data_ptr<float>();
  for (int64_t first_row = 0; first_row < N; first_row += kAtOnce, from += kAtOnce * I, to += kAtOnce * O) {
    const int64_t rows = std::min(kAtOnce, N - first_row);
    at::parallel_for(0, panels.count(), panels_at_once(rows, I), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t first = panels.begin(p), last = panels.end(p);
        block_sums(panels, p, from, I, to + first, O, rows);
        for (int64_t n = 0; n < rows; ++n) {
          float *row = to + n * O;
          for (int64_t o = first; b && o < last; ++o) row[o] += b[o];
          for (int64_t o = first; relu && o < last; ++o) row[o] = row[o] < 0 ? 0 : row[o];
        }
      }
    });
  }
  return y;
}

}  // namespace

at::Tensor pack_weight(const at::Tensor &weight_OI) {
  check_packable(weight_OI);
  at::NoGradGuard no_grad;
  const at::Tensor w = weight_OI.detach().contiguous();
  if (!at::globalContext().hasMKLDNN()) return w.clone();
  static const auto reorder = find<Reorder>("mkldnn::_reorder_linear_weight");
  return reorder.call(w, usual_rows);
}

at::Tensor pack_searched(const at::Tensor &weight_OI) {
  check_packable(weight_OI);
  at::NoGradGuard no_grad;
  auto both = c10::make_intrusive<Searched>(weight_OI.detach().contiguous());
  return at::detail::make_tensor<OpaqueSearched>(at::DispatchKeySet(at::DispatchKey::CPU), caffe2::TypeMeta::Make<float>(),
                                                 at::Device(at::kCPU), both, weight_OI.sizes());
}

at::Tensor packed_linear(const at::Tensor &x_NI, const at::Tensor &weight, const at::Tensor &bias_O, bool relu) {
  TORCH_CHECK(x_NI.dim() > 0 && x_NI.size(-1) == weight.size(1) && (!bias_O.defined() || bias_O.numel() == weight.size(0)), "an input of shape ",
              x_NI.sizes(), " does not fit a weight of shape ", weight.sizes());
  check_together(x_NI, bias_O);
  const at::Tensor bias = bias_O.defined() ? bias_O.contiguous() : bias_O;  // _linear_pointwise reads it so, whatever its strides
  if (is_int8(weight)) return int8_linear(x_NI, weight, bias, relu);
  if (is_searched(weight)) {
    Searched &both = *static_cast<OpaqueSearched *>(weight.unsafeGetTensorImpl())->opaque_handle();
    const int64_t N = x_NI.numel() / std::max<int64_t>(1, x_NI.size(-1));
    const StepPanels *panels = N > 0 && N <= few() ? both.panels() : nullptr;
    return panels ? few_rows(x_NI, *panels, weight.size(0), bias, relu) : packed_linear(x_NI, both.blocks(), bias, relu);
  }
  if (!at::globalContext().hasMKLDNN()) {
    at::Tensor y = bias.defined() ? at::linear(x_NI, weight, bias) : at::linear(x_NI, weight);
    return relu ? y.relu_() : y;
  }
  static const auto pointwise = find<Pointwise>("mkldnn::_linear_pointwise");
  return pointwise.call(x_NI, weight, bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt, relu ? "relu" : "none",
                        c10::List<std::optional<at::Scalar>>(), "");
}

}  // namespace ap

using namespace ap;

extern "C" ap_error ap_pack_weight(ap_tensor weight, ap_tensor *out) {
  return guard([&] { *out = wrap(pack_searched(get(weight))); });
}

extern "C" ap_error ap_packed_linear(ap_tensor x, ap_tensor weight, ap_tensor bias, bool relu, ap_tensor *out) {
  return guard([&] {
    at::AutoDispatchBelowADInplaceOrView no_grad;
    *out = wrap(packed_linear(get(x), get(weight), bias ? get(bias) : at::Tensor(), relu));
  });
}
