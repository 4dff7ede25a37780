// Scaled dot-product attention: libtorch's, and what is used in its place under autocast on the host.
//
// In bfloat16 libtorch asks oneDNN for each small product of each head of each sentence, which costs more than the
// product: half of an update's time on Multi30k. half_attention.cc has no such products. Where it does not apply,
// libtorch computes in float32; what the backward pass needs is kept in bfloat16, as the products before gave it and
// the one behind takes it, and is widened once more there.
//
// Legend: B batch, H heads, T queries, S keys, K width of a head.
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/SDPBackend.h>
#include <ATen/autocast_mode.h>

#include <limits>

#include "api_dot_product.h"
#include "border/common.h"
#include "border/operator.h"
#include "devices/api_isa.h"
#include "half_attention.h"

namespace ap {
namespace {

using Mask = std::optional<at::Tensor>;

// By half_attention.cc.
class HalfAttention : public Operator {
 public:
  HalfAttention(const Mask &mask, bool causal) : causal_(causal) {
    if (mask) mask_ = mask->contiguous();
  }

  static bool fits(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v, const Mask &mask) {
    if (!ap_has_bfloat16() || q.dim() != 4 || k.dim() != 4 || v.sizes() != k.sizes() || q.numel() == 0 || k.numel() == 0) return false;
    const int64_t K = q.size(3);
    if (k.size(0) != q.size(0) || k.size(1) != q.size(1) || k.size(3) != K || K % kHalfWidths != 0) return false;
    return !mask || (mask->scalar_type() == at::kBool && mask->sizes() == at::IntArrayRef({q.size(0), 1, 1, k.size(2)}));
  }

  Tensors forward(const Tensors &operands) override {
    const at::Tensor q = by_rows(operands[0]), k = by_rows(operands[1]), v = by_rows(operands[2]);
    at::Tensor out_BHTK = like(q), logsumexp_BHT = at::empty({q.size(0), q.size(1), q.size(2)}, q.options().dtype(at::kFloat));
    auto *logsumexp = logsumexp_BHT.mutable_data_ptr<float>();
    each_head(q, k, v, half_attention_room, [&](const HalfHead &head, int64_t b, int64_t h, float *room) {
      half_attention(head, rows(out_BHTK, b, h), logsumexp + (b * q.size(1) + h) * q.size(2), room);
    });
    save_for_backward({q, k, v, out_BHTK, logsumexp_BHT});
    return {out_BHTK};
  }

  Tensors backward(const Tensors &grads) override {
    const Tensors saved = saved_tensors();
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], gout = by_rows(grads[0]);
    at::Tensor gq = like(q), gk = like(k), gv = like(v);
    const auto *logsumexp = saved[4].const_data_ptr<float>();
    each_head(q, k, v, half_attention_back_room, [&](const HalfHead &head, int64_t b, int64_t h, float *room) {
      half_attention_back(head, rows(saved[3], b, h), logsumexp + (b * q.size(1) + h) * q.size(2), rows(gout, b, h), rows(gq, b, h),
                          rows(gk, b, h), rows(gv, b, h), room);
    });
    return {gq, gk, gv};
  }

 private:
  // x, or a copy, whose rows are as half_attention.h wants them.
  static at::Tensor by_rows(const at::Tensor &x) {
    const bool even = x.stride(0) % 2 == 0 && x.stride(1) % 2 == 0 && x.stride(2) % 2 == 0;
    return x.stride(3) == 1 && even && reinterpret_cast<uintptr_t>(x.const_data_ptr()) % sizeof(float) == 0 ? x : x.contiguous();
  }

  // As a layer that splits its width into heads reads and writes it.
  static at::Tensor like(const at::Tensor &x_BHTK) {
    return at::empty({x_BHTK.size(0), x_BHTK.size(2), x_BHTK.size(1), x_BHTK.size(3)}, x_BHTK.options()).transpose(1, 2);
  }

  static HalfRows rows(const at::Tensor &x, int64_t b, int64_t h) {
    return {static_cast<uint16_t *>(x.data_ptr()) + b * x.stride(0) + h * x.stride(1), x.stride(2)};
  }

  template <class Room, class Work>
  void each_head(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v, Room room_of, Work work) const {
    const int64_t H = q.size(1);
    at::parallel_for(0, q.size(0) * H, 1, [&](int64_t begin, int64_t end) {
      at::Tensor room;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / H, h = i % H;
        const bool *mask = mask_ ? mask_->const_data_ptr<bool>() + b * k.size(2) : nullptr;
        const HalfHead head{rows(q, b, h), rows(k, b, h), rows(v, b, h), mask, q.size(2), k.size(2), q.size(3), causal_};
        if (!room.defined()) room = at::empty({room_of(head)}, q.options().dtype(at::kFloat));
        work(head, b, h, room.mutable_data_ptr<float>());
      }
    });
  }

  Mask mask_;
  bool causal_;
};

// By libtorch in float32.
class WideAttention : public Operator {
 public:
  WideAttention(Mask mask, bool causal) : mask_(std::move(mask)), causal_(causal) {}

  Tensors forward(const Tensors &operands) override {
    const at::Tensor &q_BHTK = operands[0], &k_BHSK = operands[1], &v_BHSK = operands[2];
    const auto [out_BHTK, logsumexp_BTH] = at::_scaled_dot_product_flash_attention_for_cpu(
        q_BHTK.to(at::kFloat), k_BHSK.to(at::kFloat), v_BHSK.to(at::kFloat), 0.0, causal_, mask_);
    const at::Tensor half_BHTK = out_BHTK.to(q_BHTK.scalar_type());
    save_for_backward({q_BHTK, k_BHSK, v_BHSK, half_BHTK, logsumexp_BTH});
    return {half_BHTK};
  }

  Tensors backward(const Tensors &grads) override {
    const Tensors saved = saved_tensors();
    const auto wide = [](const at::Tensor &x) { return x.to(at::kFloat); };
    auto [gq, gk, gv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(wide(grads[0]), wide(saved[0]), wide(saved[1]), wide(saved[2]),
                                                                                 wide(saved[3]), saved[4], 0.0, causal_, mask_);
    const at::ScalarType half = saved[0].scalar_type();
    return {gq.to(half), gk.to(half), gv.to(half)};
  }

 private:
  Mask mask_;
  bool causal_;
};

// The mask as what is added to scores: 0 where it is true, and minus infinity elsewhere.
Mask added(const Mask &mask) {
  if (!mask || mask->scalar_type() != at::kBool) return mask;
  return at::zeros(mask->sizes(), mask->options().dtype(at::kFloat)).masked_fill_(mask->logical_not(), -std::numeric_limits<double>::infinity());
}

at::Tensor on_host_under_autocast(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v, const Mask &mask, bool causal) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const bool half = q.scalar_type() == at::kBFloat16 && k.scalar_type() == at::kBFloat16 && v.scalar_type() == at::kBFloat16;
  if (half && HalfAttention::fits(q, k, v, mask)) return recorded<HalfAttention>({q, k, v}, mask, causal)[0];
  if (half && at::_fused_sdp_choice(q, k, v, mask, 0.0, causal) == static_cast<int64_t>(at::SDPBackend::flash_attention))
    return recorded<WideAttention>({q, k, v}, added(mask), causal)[0];
  return at::scaled_dot_product_attention(q.to(at::kFloat), k.to(at::kFloat), v.to(at::kFloat), mask, 0.0, causal);
}

// On a GPU, in half precision, libtorch prefers cuDNN, which makes a plan for each new shape: 100 to 130 ms on an H200,
// where the other kernels take 0.3 to 0.6 ms for any (docs/results/gpu.md). cuDNN was faster on texts of 1,024 symbols,
// and those are cut to one length.
constexpr int64_t kCuDNNQueries = 512;

at::Tensor by_libtorch(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v, const Mask &mask, bool causal) {
  class Choice {
   public:
    explicit Choice(bool cudnn) { at::globalContext().setSDPUseCuDNN(before_ && cudnn); }
    ~Choice() { at::globalContext().setSDPUseCuDNN(before_); }

   private:
    const bool before_ = at::globalContext().userEnabledCuDNNSDP();
  } choice(!mask && q.size(-2) >= kCuDNNQueries);
  return at::scaled_dot_product_attention(q, k, v, mask, 0.0, causal);
}

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_attention(ap_tensor q, ap_tensor k, ap_tensor v, ap_tensor mask, bool causal, ap_tensor *out) {
  return guard([&] {
    TORCH_CHECK(!mask || !causal, "a mask and causality exclude each other: let the mask say both");
    Mask m;
    if (mask) m = get(mask);
    const bool autocast = get(q).is_cpu() && at::autocast::is_autocast_enabled(at::kCPU);
    *out = wrap(autocast ? on_host_under_autocast(get(q), get(k), get(v), m, causal)
                      : by_libtorch(get(q), get(k), get(v), m, causal));
  });
}
