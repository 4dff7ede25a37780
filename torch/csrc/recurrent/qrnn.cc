// The scan of a quasi-recurrent layer over all time steps:
//   c_t = f * tanh(z) + (1 - f) * c_{t-1},   out_t = s(o) * c_t,   f = s(f'), s the logistic function
// where z, f' and o are the thirds of gates [T,B,3H]. Each element of c runs through
// time by itself.
//
// Kept for the backward pass: the gates as they came, whose functions are computed
// again, and c [T,B,H].
//
// Legend: T time steps, B columns, H width.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include "api_qrnn.h"
#include "border/common.h"
#include "border/operator.h"
#include "gates.h"
#include "devices/isa.h"

namespace ap {
namespace {

AP_KERNEL(void, forward_step, const float *gates, const float *before, float *c, float *out, int64_t H) {
#pragma omp simd
  for (int64_t j = 0; j < H; ++j) {
    const float z = hyperbolic_tangent(gates[j]), f = logistic(gates[H + j]);
    c[j] = f * z + (1 - f) * before[j];
    out[j] = logistic(gates[2 * H + j]) * c[j];
  }
}

// Turns gc from the gradient of c_t by later steps into that of c_{t-1}.
AP_KERNEL(void, backward_step, const float *gates, const float *before, const float *c, const float *gout, float *gc, float *ggates, int64_t H) {
#pragma omp simd
  for (int64_t j = 0; j < H; ++j) {
    const float z = hyperbolic_tangent(gates[j]), f = logistic(gates[H + j]), o = logistic(gates[2 * H + j]);
    const float g = gc[j] + gout[j] * o;
    ggates[j] = g * f * (1 - z * z);
    ggates[H + j] = g * (z - before[j]) * f * (1 - f);
    ggates[2 * H + j] = gout[j] * c[j] * o * (1 - o);
    gc[j] = g * (1 - f);
  }
}

struct Scan : Operator {
  Tensors forward(const Tensors &operands) override {
    const at::Tensor gates = operands[0].contiguous(), c0 = operands[1].contiguous();
    const int64_t T = gates.size(0), B = gates.size(1), H = gates.size(2) / 3;
    at::Tensor c = at::empty({T, B, H}, gates.options()), out = at::empty({T, B, H}, gates.options());
    const float *from = gates.const_data_ptr<float>(), *start = c0.const_data_ptr<float>();
    float *cells = c.mutable_data_ptr<float>(), *to = out.mutable_data_ptr<float>();
    at::parallel_for(0, B, 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = 0; t < T; ++t)
        for (int64_t b = begin; b < end; ++b) {
          const int64_t at = (t * B + b) * H;
          forward_step(from + 3 * at, t > 0 ? cells + at - B * H : start + b * H, cells + at, to + at, H);
        }
    });
    save_for_backward({gates, c0, c});
    return {out, T > 0 ? c[T - 1].clone() : c0.clone()};
  }

  Tensors backward(const Tensors &grads) override {
    const Tensors saved = saved_tensors();
    const at::Tensor &gates = saved[0], &c0 = saved[1], &c = saved[2];
    const int64_t T = gates.size(0), B = gates.size(1), H = gates.size(2) / 3;
    const at::Tensor gout = grads[0].contiguous();
    at::Tensor gc = grads[1].clone(at::MemoryFormat::Contiguous), ggates = at::empty_like(gates);
    const float *from = gates.const_data_ptr<float>(), *start = c0.const_data_ptr<float>(), *cells = c.const_data_ptr<float>(),
                *go = gout.const_data_ptr<float>();
    float *running = gc.mutable_data_ptr<float>(), *to = ggates.mutable_data_ptr<float>();
    at::parallel_for(0, B, 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = T; t-- > 0;)
        for (int64_t b = begin; b < end; ++b) {
          const int64_t at = (t * B + b) * H;
          backward_step(from + 3 * at, t > 0 ? cells + at - B * H : start + b * H, cells + at, go + at, running + b * H, to + 3 * at, H);
        }
    });
    return {ggates, gc};
  }
};

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_qrnn_scan(ap_tensor gates, ap_tensor c, ap_tensor *out, ap_tensor *c_n) {
  return guard([&] {
    const at::Tensor &G = get(gates), &C = get(c);
    TORCH_CHECK(G.dim() == 3 && C.dim() == 2 && G.size(1) == C.size(0) && G.size(2) == 3 * C.size(1), "gates of shape ", G.sizes(),
                " do not fit a state of shape ", C.sizes());
    TORCH_CHECK(G.scalar_type() == at::kFloat && C.scalar_type() == at::kFloat && G.is_cpu() && C.is_cpu(), "the scan is for float32 on the CPU");
    const Tensors results = recorded<Scan>({G, C});
    *out = wrap(results[0]);
    *c_n = wrap(results[1]);
  });
}
