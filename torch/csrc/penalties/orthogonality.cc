// What the columns of a matrix pay for not being orthonormal.
//
//   E_KK  = scale^2 x_RK^T x_RK - I
//   value = frobenius * |E|_F^2 + spectral * |E v|^2
//
// where v is a unit vector that power iteration turns towards the eigenvector
// of E whose eigenvalue is largest in size, so that |E v| tends to the spectral
// norm from below. v is kept between calls and counts as a constant. With
// y = E v the gradient is one product:
//
//   dx_RK = x_RK scale^2 (4 frobenius E + 2 spectral (y v^T + v y^T))
//
// Legend: R rows, K columns.
#include <ATen/Functions.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "api_orthogonality.h"
#include "border/common.h"
#include "border/operator.h"

namespace ap {
namespace {

// Columns of a strip of the Gram matrix. Narrower ones leave out more of what
// symmetry gives, wider ones are quicker products.
constexpr int64_t kStrip = 64;

// x^T x. A strip of rows is multiplied from its diagonal on; the rest is its mirror.
at::Tensor gram(const at::Tensor &x_RK) {
  const int64_t k = x_RK.size(1);
  if (k < 2 * kStrip) return at::mm(x_RK.t(), x_RK);
  at::Tensor g_KK = at::empty({k, k}, x_RK.options());
  for (int64_t begin = 0; begin < k; begin += kStrip) {
    const int64_t end = std::min(begin + kStrip, k);
    at::Tensor strip = g_KK.slice(0, begin, end).slice(1, begin);
    at::mm_out(strip, x_RK.slice(1, begin, end).t(), x_RK.slice(1, begin));
    if (end < k) g_KK.slice(0, end).slice(1, begin, end).copy_(strip.slice(1, end - begin).t());
  }
  return g_KK;
}

// Turns v towards E's dominant eigenvector. Where E v vanishes there is nothing to turn to.
void iterate(const at::Tensor &e_KK, at::Tensor &v_K, int64_t iterations) {
  for (int64_t i = 0; i < iterations; ++i) {
    const at::Tensor y_K = at::mv(e_KK, v_K), norm = at::norm(y_K);
    v_K = at::where(norm > 1e-30, y_K / norm.clamp_min(1e-30), v_K);
  }
}

class Orthogonality : public Operator {
 public:
  Orthogonality(double scale, double frobenius, double spectral, int64_t iterations, const at::Tensor &vector_K)
      : scale_(scale), frobenius_(frobenius), spectral_(spectral), iterations_(iterations), vector_K_(vector_K) {}

  Tensors forward(const Tensors &operands) override {
    const at::Tensor &x_RK = operands[0];
    at::Tensor e_KK = gram(x_RK).mul_(scale_ * scale_);
    e_KK.diagonal().sub_(1);
    at::Tensor value = e_KK.square().sum().mul_(frobenius_);
    at::Tensor factor_KK = e_KK * (4 * frobenius_);
    if (vector_K_.defined()) {
      at::Tensor v_K = vector_K_.detach();
      iterate(e_KK, v_K, iterations_);
      const at::Tensor y_K = at::mv(e_KK, v_K);
      value.add_(at::dot(y_K, y_K), spectral_);
      factor_KK.addr_(y_K, v_K, 1, 2 * spectral_).addr_(v_K, y_K, 1, 2 * spectral_);
      vector_K_.detach().copy_(v_K);
    }
    save_for_backward({x_RK, factor_KK.mul_(scale_ * scale_)});
    return {value};
  }

  Tensors backward(const Tensors &grads) override {
    const Tensors saved = saved_tensors();
    return {at::mm(saved[0], saved[1] * grads[0])};
  }

 private:
  double scale_, frobenius_, spectral_;
  int64_t iterations_;
  at::Tensor vector_K_;  // undefined, or changed in place
};

void check_matrix(const at::Tensor &x) { TORCH_CHECK(x.dim() == 2, "a matrix is needed, not a tensor of shape ", x.sizes()); }

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" {

ap_error ap_orthogonality(ap_tensor x, ap_tensor vector, double scale, double frobenius, double spectral, int64_t iterations, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &m = get(x);
    check_matrix(m);
    at::Tensor v;
    if (vector) {
      v = get(vector);
      TORCH_CHECK(v.dim() == 1 && v.size(0) == m.size(1), "a vector of shape ", v.sizes(), " does not fit a matrix of shape ", m.sizes());
    }
    // The difference from I is smaller than what bfloat16 can tell from 1.
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    *out = wrap(recorded<Orthogonality>({m}, scale, frobenius, spectral, iterations, v)[0]);
  });
}

ap_error ap_gram(ap_tensor x, ap_tensor *out) {
  return guard([&] {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const c10::NoGradGuard no_grad;
    check_matrix(get(x));
    *out = wrap(gram(get(x)));
  });
}

}  // extern "C"
