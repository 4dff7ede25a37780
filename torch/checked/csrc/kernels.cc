// The operators of the checked device. Each runs libtorch's kernel for the CPU on tensors that view the device's memory
// where kernels see it. What an operator for a GPU would refuse, tensors of both sides, is refused here.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include <cstring>
#include <map>
#include <set>

#include "generator.h"
#include "memory.h"

namespace checked {
namespace {

const c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

bool is_ours(const at::Tensor &x) { return x.defined() && x.device().type() == kDevice; }

at::Tensor tensor_of(c10::Storage storage, c10::DispatchKeySet keys, const at::Tensor &like) {
  at::Tensor x = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, like.dtype());
  x.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  return x;
}

// One call of a kernel: which tensors of the host stand for which of the device.
class Call {
 public:
  // The view of a tensor of the device for a kernel of the CPU.
  at::Tensor host(const at::Tensor &x) {
    if (!is_ours(x)) return x;
    const c10::Storage &storage = x.storage();
    auto known = storages_.find(storage.unsafeGetStorageImpl());
    if (known == storages_.end()) {
      c10::Storage host(c10::Storage::use_byte_size_t(), storage.nbytes(), at::DataPtr(kernel_address(storage.data()), at::kCPU), c10::GetAllocator(at::kCPU), true);
      known = storages_.emplace(storage.unsafeGetStorageImpl(), host).first;
      origins_.emplace(host.unsafeGetStorageImpl(), storage);
    }
    at::Tensor view = tensor_of(known->second, c10::DispatchKeySet(c10::DispatchKey::CPU), x);
    if (x.unsafeGetTensorImpl()->is_wrapped_number()) view.unsafeGetTensorImpl()->set_wrapped_number(true);
    tensors_.emplace(view.unsafeGetTensorImpl(), x);
    views_.emplace_back(view, x);
    return view;
  }

  // Takes over what kernels have made of operands that they resized.
  void settle() {
    for (const auto &[view, x] : views_) {
      c10::StorageImpl *storage = x.storage().unsafeGetStorageImpl();
      const void *made = view.storage().data();
      if (view.sizes() == x.sizes() && made == kernel_address(storage->data())) continue;
      if (made != kernel_address(storage->data())) {
        grow(storage, view.storage().nbytes());
        if (view.storage().nbytes() > 0) memcpy(kernel_address(storage->data()), made, view.storage().nbytes());
      }
      x.unsafeGetTensorImpl()->set_sizes_and_strides(view.sizes(), view.strides(), view.storage_offset());
    }
  }

  // The tensor of the device for a result of a kernel: an operand itself, a view of one, or a new one.
  at::Tensor device(const at::Tensor &y) {
    if (!y.defined() || !y.is_cpu()) return y;
    const auto operand = tensors_.find(y.unsafeGetTensorImpl());
    if (operand != tensors_.end()) return operand->second;
    const auto origin = origins_.find(y.storage().unsafeGetStorageImpl());
    if (origin != origins_.end()) return tensor_of(origin->second, kKeys, y);
    computed_ = true;
    at::Tensor x = at::detail::empty_strided_generic(y.sizes(), y.strides(), allocator(), kKeys, y.scalar_type());
    at::Tensor to = host(x);
    to.copy_(y);
    return x;
  }

  // Whether a result was anything else than an operand or a view of one.
  bool computed() const { return computed_; }

 private:
  std::map<c10::StorageImpl *, c10::Storage> storages_, origins_;  // of the device to host, and back
  std::map<c10::TensorImpl *, at::Tensor> tensors_;
  std::vector<std::pair<at::Tensor, at::Tensor>> views_;  // the first keep their addresses from being used again
  bool computed_ = false;
};

// Operators that a GPU's host has to wait for, because the size of their result depends on values.
const std::set<std::string> kWaiting = {"aten::nonzero", "aten::masked_select", "aten::_unique", "aten::_unique2", "aten::unique_dim",
                                        "aten::unique_consecutive", "aten::bincount", "aten::equal", "aten::repeat_interleave"};

// Whose operands may be on both sides: indices are moved by the operator itself.
const std::set<std::string> kMixed = {"aten::index", "aten::index_put_", "aten::_index_put_impl_"};

template <class F>
c10::IValue each_tensor(const c10::IValue &value, F f) {
  if (value.isTensor()) return f(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor &x : value.toTensorVector()) list.push_back(f(x));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::impl::GenericList list(c10::OptionalType::ofTensor());
    for (const c10::IValue &x : value.toListRef()) list.push_back(x.isNone() ? x : c10::IValue(f(x.toTensor())));
    return list;
  }
  return value;
}

void run(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const c10::FunctionSchema &schema = op.schema();
  const std::string &name = schema.name();
  now_running(name);
  const at::AutoDispatchBelowADInplaceOrView below;
  Call call;
  const size_t first = stack->size() - schema.arguments().size();
  for (size_t i = first; i < stack->size(); ++i) {
    c10::IValue &value = (*stack)[i];
    if (value.isDevice() && value.toDevice().type() == kDevice) value = at::Device(at::kCPU);
    if (value.isGenerator() && value.toGenerator().device().type() == kDevice) value = value.toGenerator().get<Generator>()->host;
    value = each_tensor(value, [&](const at::Tensor &x) {
      TORCH_CHECK(!x.defined() || is_ours(x) || x.dim() == 0 || kMixed.count(name), name, ": Expected all tensors to be on the same device, but found at least two devices, ",
                  "cpu and checked:0: argument ", schema.arguments()[i - first].name(), " of shape ", x.sizes(), " is on the CPU");
      return call.host(x);
    });
  }
  op.callBoxed(stack);
  call.settle();
  for (size_t i = stack->size() - schema.returns().size(); i < stack->size(); ++i)
    (*stack)[i] = each_tensor((*stack)[i], [&](const at::Tensor &y) { return call.device(y); });
  if (kWaiting.count(name)) count(&Counts::waits, name.c_str());
  if (call.computed() || schema.is_mutable()) count(&Counts::operators, name.c_str());
}

// ---- what is not a kernel ------------------------------------------------------------------------------

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, allocator(), kKeys, c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                         std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, allocator(), kKeys, c10::dtype_or_default(type));
}

const at::Tensor &resize_(const at::Tensor &self, at::IntArrayRef size, std::optional<at::MemoryFormat>) {
  c10::TensorImpl *impl = self.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(size);
  grow(self.storage().unsafeGetStorageImpl(),
       at::detail::computeStorageNbytesContiguous(size, self.itemsize(), static_cast<size_t>(self.storage_offset())));
  return self;
}

at::Tensor &set_storage_(at::Tensor &self, at::Storage source, int64_t offset, at::IntArrayRef size, at::IntArrayRef stride) {
  c10::TensorImpl *impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(source));
  if (stride.empty() && !size.empty()) {
    impl->set_storage_offset(offset);
    impl->set_sizes_contiguous(size);
  } else {
    impl->set_sizes_and_strides(size, stride, offset);
  }
  return self;
}

at::Tensor &set_tensor_(at::Tensor &self, const at::Tensor &source) {
  return set_storage_(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

at::Tensor &copy_(at::Tensor &self, const at::Tensor &source, bool returns_at_once) {
  now_running("aten::copy_");
  const bool upload = !is_ours(source), download = !is_ours(self);
  if (upload || !download) count(upload ? &Counts::uploads : &Counts::operators, "aten::copy_");
  // libtorch waits for the device in every copy between the two sides that need not return at once; one to the
  // host that returns at once is read too early.
  if (download || (upload && !returns_at_once)) count(&Counts::waits, upload ? "an upload that waits" : "aten::copy_");
  TORCH_CHECK(!download || !returns_at_once, "a copy to the host that returns at once is read before it is there");
  const at::AutoDispatchBelowADInplaceOrView below;
  Call call;
  at::Tensor to = call.host(self);
  to.copy_(call.host(source));
  return self;
}

at::Tensor copy_from(const at::Tensor &self, const at::Tensor &to, bool returns_at_once) {
  at::Tensor target = to;
  return copy_(target, self, returns_at_once);
}

at::Tensor copy_from_and_resize(const at::Tensor &self, const at::Tensor &to) {
  if (self.sizes() != to.sizes()) to.resize_(self.sizes());
  return copy_from(self, to, false);
}

at::Scalar item(const at::Tensor &self) {
  now_running("aten::_local_scalar_dense");
  count(&Counts::waits, "aten::_local_scalar_dense");
  const at::AutoDispatchBelowADInplaceOrView below;
  Call call;
  return at::_local_scalar_dense(call.host(self));
}

// ---- operators that a GPU has and the CPU has not ------------------------------------------------------

// A step of an LSTM from the products; the workspace holds the four gates.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(const at::Tensor &input_B4H, const at::Tensor &hidden_B4H, const at::Tensor &c_BH,
                                                         const std::optional<at::Tensor> &input_bias, const std::optional<at::Tensor> &hidden_bias) {
  now_running("aten::_thnn_fused_lstm_cell");
  count(&Counts::operators, "aten::_thnn_fused_lstm_cell");
  const at::AutoDispatchBelowADInplaceOrView below;
  Call call;
  at::Tensor sums_B4H = call.host(input_B4H) + call.host(hidden_B4H);
  for (const auto &bias : {input_bias, hidden_bias})
    if (bias && bias->defined()) sums_B4H += call.host(*bias);
  auto gates = sums_B4H.chunk(4, 1);
  const at::Tensor i = gates[0].sigmoid(), f = gates[1].sigmoid(), g = gates[2].tanh(), o = gates[3].sigmoid();
  const at::Tensor c = f * call.host(c_BH) + i * g;
  return {call.device(o * c.tanh()), call.device(c), call.device(at::cat({i, f, g, o}, 1))};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell_backward(const std::optional<at::Tensor> &gh_BH, const std::optional<at::Tensor> &gc_BH,
                                                                  const at::Tensor &before_BH, const at::Tensor &c_BH, const at::Tensor &work_B4H,
                                                                  bool has_bias) {
  now_running("aten::_thnn_fused_lstm_cell_backward");
  count(&Counts::operators, "aten::_thnn_fused_lstm_cell_backward");
  const at::AutoDispatchBelowADInplaceOrView below;
  Call call;
  const at::Tensor before = call.host(before_BH), tanh_c = call.host(c_BH).tanh();
  const auto gates = call.host(work_B4H).chunk(4, 1);
  const at::Tensor &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
  const at::Tensor gh = gh_BH && gh_BH->defined() ? call.host(*gh_BH) : at::zeros_like(before);
  at::Tensor gc = gh * o * (1 - tanh_c * tanh_c);
  if (gc_BH && gc_BH->defined()) gc = gc + call.host(*gc_BH);
  const at::Tensor sums =
      at::cat({gc * g * i * (1 - i), gc * before * f * (1 - f), gc * i * (1 - g * g), gh * tanh_c * o * (1 - o)}, 1);
  const at::Tensor bias = has_bias ? call.device(sums.sum(0)) : at::Tensor();
  return {call.device(sums), call.device(gc * f), bias};
}

// A step of a GRU from the products; the workspace holds the three gates, the state before, and the candidate's
// product.
std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor &input_B3H, const at::Tensor &hidden_B3H, const at::Tensor &h_BH,
                                            const std::optional<at::Tensor> &input_bias, const std::optional<at::Tensor> &hidden_bias) {
  now_running("aten::_thnn_fused_gru_cell");
  count(&Counts::operators, "aten::_thnn_fused_gru_cell");
  const at::AutoDispatchBelowADInplaceOrView below;
  Call call;
  const auto sums = [&](const at::Tensor &product, const std::optional<at::Tensor> &bias) {
    return (bias && bias->defined() ? call.host(product) + call.host(*bias) : call.host(product)).chunk(3, 1);
  };
  const auto in = sums(input_B3H, input_bias), state = sums(hidden_B3H, hidden_bias);
  const at::Tensor reset = (in[0] + state[0]).sigmoid(), update = (in[1] + state[1]).sigmoid(), fresh = (in[2] + reset * state[2]).tanh();
  const at::Tensor before = call.host(h_BH);
  return {call.device(fresh + update * (before - fresh)), call.device(at::cat({reset, update, fresh, before, state[2]}, 1))};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> gru_cell_backward(const at::Tensor &gh_BH, const at::Tensor &work_B5H, bool has_bias) {
  now_running("aten::_thnn_fused_gru_cell_backward");
  count(&Counts::operators, "aten::_thnn_fused_gru_cell_backward");
  const at::AutoDispatchBelowADInplaceOrView below;
  Call call;
  const at::Tensor gh = call.host(gh_BH);
  const auto work = call.host(work_B5H).chunk(5, 1);
  const at::Tensor &reset = work[0], &update = work[1], &fresh = work[2], &before = work[3], &product = work[4];
  const at::Tensor g_update = gh * (before - fresh) * update * (1 - update), g_fresh = gh * (1 - update) * (1 - fresh * fresh);
  const at::Tensor g_reset = g_fresh * product * reset * (1 - reset);
  const at::Tensor g_in = at::cat({g_reset, g_update, g_fresh}, 1), g_state = at::cat({g_reset, g_update, g_fresh * reset}, 1);
  const auto bias = [&](const at::Tensor &g) { return has_bias ? call.device(g.sum(0)) : at::Tensor(); };
  return {call.device(g_in), call.device(g_state), call.device(gh * update), bias(g_in), bias(g_state)};
}

// Dropout that draws from the device's own generator, and keeps what it kept.
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor &x, double p, std::optional<bool> train) {
  now_running("aten::native_dropout");
  count(&Counts::operators, "aten::native_dropout");
  TORCH_CHECK(train.value_or(true) && p < 1, "the checked device drops in training only, and not all");
  const at::AutoDispatchBelowADInplaceOrView below;
  Call call;
  const at::Tensor seen = call.host(x);
  const at::Generator &generator = at::globalContext().defaultGenerator(at::Device(kDevice, 0));
  const at::Tensor mask = at::empty(x.sizes(), seen.options()).bernoulli_(1 - p, generator.get<Generator>()->host);
  return {call.device(seen * mask * (1 / (1 - p))), call.device(mask.to(at::kBool))};
}

using Attention = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor, at::Tensor, at::Tensor>;

Attention attention(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v, const std::optional<at::Tensor> &mask, double dropout, bool causal, bool,
                    std::optional<double> scale) {
  now_running("aten::_scaled_dot_product_fused_attention_overrideable");
  count(&Counts::operators, "aten::_scaled_dot_product_fused_attention_overrideable");
  const at::AutoDispatchBelowADInplaceOrView below;
  Call call;
  std::optional<at::Tensor> seen;
  if (mask && mask->defined()) seen = call.host(*mask);
  const auto [out, sums] = at::_scaled_dot_product_flash_attention_for_cpu(call.host(q), call.host(k), call.host(v), dropout, causal, seen, scale);
  const at::Tensor none = at::empty({0}, at::kLong);
  return {call.device(out), call.device(sums), none, none, q.sym_size(2), k.sym_size(2), none, none, none};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attention_backward(const at::Tensor &grad, const at::Tensor &q, const at::Tensor &k,
                                                                              const at::Tensor &v, const at::Tensor &mask, std::array<bool, 4> wanted,
                                                                              const at::Tensor &out, const at::Tensor &sums, const at::Tensor &,
                                                                              const at::Tensor &, c10::SymInt, c10::SymInt, double dropout,
                                                                              bool causal, const at::Tensor &, const at::Tensor &,
                                                                              std::optional<double> scale) {
  now_running("aten::_scaled_dot_product_fused_attention_overrideable_backward");
  count(&Counts::operators, "aten::_scaled_dot_product_fused_attention_overrideable_backward");
  TORCH_CHECK(!wanted[3], "the checked device's attention has no gradient for its mask");
  const at::AutoDispatchBelowADInplaceOrView below;
  Call call;
  std::optional<at::Tensor> seen;
  if (mask.defined()) seen = call.host(mask);
  const auto [gq, gk, gv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(call.host(grad), call.host(q), call.host(k), call.host(v), call.host(out),
                                                                                    call.host(sums), dropout, causal, seen, scale);
  return {call.device(gq), call.device(gk), call.device(gv), at::Tensor()};
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&run>()); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", TORCH_FN(empty));
  m.impl("empty_strided", TORCH_FN(empty_strided));
  m.impl("resize_", TORCH_FN(resize_));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage_));
  m.impl("set_.source_Tensor", TORCH_FN(set_tensor_));
  m.impl("copy_", TORCH_FN(copy_));
  m.impl("_copy_from", TORCH_FN(copy_from));
  m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  m.impl("_local_scalar_dense", TORCH_FN(item));
  m.impl("_thnn_fused_gru_cell", TORCH_FN(gru_cell));
  m.impl("_thnn_fused_gru_cell_backward", TORCH_FN(gru_cell_backward));
  m.impl("native_dropout", TORCH_FN(native_dropout));
  m.impl("_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
  m.impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstm_cell_backward));
  m.impl("_scaled_dot_product_fused_attention_overrideable", TORCH_FN(attention));
  m.impl("_scaled_dot_product_fused_attention_overrideable_backward", TORCH_FN(attention_backward));
  // Operators for which libtorch has a composition beside kernels of CPU and CUDA: like CUDA, the device has a kernel.
  for (const char *name : {"native_layer_norm", "_foreach_norm.Scalar", "_foreach_mul_.Scalar", "_foreach_mul_.Tensor", "_foreach_add_.List", "_foreach_add.List",
                           "_foreach_lerp_.Scalar", "_foreach_addcmul_.Scalar", "_foreach_mul.Scalar", "_foreach_sub_.List", "_foreach_sub.List",
                           "_foreach_add_.Scalar", "_foreach_addcdiv_.Scalar", "_foreach_div_.List", "_foreach_div_.Tensor", "_foreach_zero_"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&run>());
}

}  // namespace
}  // namespace checked
