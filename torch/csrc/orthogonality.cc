// What the columns of a matrix pay for not being orthonormal.
//
//   E_KK  = x_RK^T x_RK - I
//   value = frobenius * |E|_F^2 + spectral * |E v|^2
//
// where v is a unit vector that power iteration turns towards the eigenvector
// of E whose eigenvalue is largest in size, so that |E v| tends to the spectral
// norm from below. v is kept between calls and counts as a constant. With
// y = E v the gradient is one product:
//
//   dx_RK = x_RK (4 frobenius E + 2 spectral (y v^T + v y^T))
//
// Legend: R rows, K columns.
#include <ATen/Functions.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

#include "api_orthogonality.h"
#include "common.h"

namespace ap {
namespace {

// Turns v towards E's dominant eigenvector. Where E v vanishes there is nothing to turn to.
void iterate(const at::Tensor &e_KK, at::Tensor &v_K, int64_t iterations) {
  for (int64_t i = 0; i < iterations; ++i) {
    const at::Tensor y_K = at::mv(e_KK, v_K), norm = at::norm(y_K);
    v_K = at::where(norm > 1e-30, y_K / norm.clamp_min(1e-30), v_K);
  }
}

struct Orthogonality : torch::autograd::Function<Orthogonality> {
  static at::Tensor forward(torch::autograd::AutogradContext *ctx, const at::Tensor &x_RK, const std::optional<at::Tensor> &vector_K,
                            double frobenius, double spectral, int64_t iterations) {
    at::Tensor e_KK = at::mm(x_RK.t(), x_RK);
    e_KK.diagonal().sub_(1);
    at::Tensor value = e_KK.square().sum().mul_(frobenius);
    at::Tensor factor_KK = e_KK * (4 * frobenius);
    if (vector_K) {
      at::Tensor v_K = vector_K->detach();
      iterate(e_KK, v_K, iterations);
      const at::Tensor y_K = at::mv(e_KK, v_K);
      value.add_(at::dot(y_K, y_K), spectral);
      factor_KK.addr_(y_K, v_K, 1, 2 * spectral).addr_(v_K, y_K, 1, 2 * spectral);
      vector_K->detach().copy_(v_K);
    }
    ctx->save_for_backward({x_RK, factor_KK});
    return value;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *ctx, torch::autograd::variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    return {at::mm(saved[0], saved[1]).mul_(grads[0]), {}, {}, {}, {}};
  }
};

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_orthogonality(ap_tensor x, ap_tensor vector, double frobenius, double spectral, int64_t iterations, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &m = get(x);
    TORCH_CHECK(m.dim() == 2, "a matrix is needed, not a tensor of shape ", m.sizes());
    std::optional<at::Tensor> v;
    if (vector) {
      v = get(vector);
      TORCH_CHECK(v->dim() == 1 && v->size(0) == m.size(1), "a vector of shape ", v->sizes(), " does not fit a matrix of shape ", m.sizes());
    }
    // The difference from I is smaller than what bfloat16 can tell from 1.
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    *out = wrap(Orthogonality::apply(m, v, frobenius, spectral, iterations));
  });
}
