// Elementary operators that gotorch does not bind.
#include <ATen/Functions.h>

#include <cmath>

#include "activation.h"
#include "api_elementary.h"
#include "border/common.h"

using namespace ap;

namespace {

// What meets x: with an integer, a whole number must be one too, or libtorch rounds both to float32.
at::Scalar scalar_for(const at::Tensor &x, double value) {
  const bool integers = at::isIntegralType(x.scalar_type(), /*includeBool=*/false);
  if (integers && std::abs(value) < 9e15 && value == std::trunc(value)) return static_cast<int64_t>(value);
  return value;
}

}  // namespace

extern "C" {

// The order of the cases is that of the constants in torch/elementary.go.
ap_error ap_unary(int op, ap_tensor x, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &a = get(x);
    switch (op) {
      case 0: *out = wrap(at::neg(a)); break;
      case 1: *out = wrap(at::exp(a)); break;
      case 2: *out = wrap(at::log(a)); break;
      case 3: *out = wrap(at::sqrt(a)); break;
      case 4: *out = wrap(at::square(a)); break;
      case 5: *out = wrap(at::abs(a)); break;
      case 6: *out = wrap(a.contiguous()); break;
      case 7: *out = wrap(a.clone()); break;
      case 8: *out = wrap(at::logical_not(a)); break;
      case 9: *out = wrap(at::isfinite(a).all()); break;
      case 10: *out = wrap(at::nonzero(a)); break;
      case 11: *out = wrap(at::silu(a)); break;
      case 12: *out = wrap(at::gelu(a)); break;
      case 13: *out = wrap(gelu_tanh(a)); break;
      case 14: *out = wrap(at::acos(a)); break;
      default: TORCH_CHECK(false, "no unary operator ", op);
    }
  });
}

ap_error ap_scalar(int op, ap_tensor x, double value, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &a = get(x);
    const at::Scalar s = scalar_for(a, value);
    switch (op) {
      case 0: *out = wrap(at::add(a, s)); break;
      case 1: *out = wrap(at::mul(a, s)); break;
      case 2: *out = wrap(at::pow(a, value)); break;
      case 3: *out = wrap(at::clamp_min(a, s)); break;
      case 4: *out = wrap(at::clamp_max(a, s)); break;
      case 5: *out = wrap(at::eq(a, s)); break;
      default: TORCH_CHECK(false, "no scalar operator ", op);
    }
  });
}

ap_error ap_compare(int op, ap_tensor a, ap_tensor b, ap_tensor *out) {
  return guard([&] {
    switch (op) {
      case 0: *out = wrap(at::eq(get(a), get(b))); break;
      case 1: *out = wrap(at::lt(get(a), get(b))); break;
      case 2: *out = wrap(at::logical_or(get(a), get(b))); break;
      case 3: *out = wrap(at::maximum(get(a), get(b))); break;
      default: TORCH_CHECK(false, "no comparison ", op);
    }
  });
}

ap_error ap_reduce(int op, ap_tensor x, int64_t dim, bool keep, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &a = get(x);
    switch (op) {
      case 0: *out = wrap(at::sum(a, {dim}, keep)); break;
      case 1: *out = wrap(at::mean(a, {dim}, keep)); break;
      case 2: *out = wrap(at::amax(a, {dim}, keep)); break;
      case 3: *out = wrap(at::argmax(a, dim, keep)); break;
      case 4: *out = wrap(at::logsumexp(a, {dim}, keep)); break;
      case 5: *out = wrap(at::norm(a, 2, {dim}, keep)); break;
      default: TORCH_CHECK(false, "no reduction ", op);
    }
  });
}

ap_error ap_matmul(ap_tensor a, ap_tensor b, ap_tensor *out) {
  return guard([&] { *out = wrap(at::matmul(get(a), get(b))); });
}

ap_error ap_reshape(ap_tensor x, const int64_t *shape, int rank, ap_tensor *out) {
  return guard([&] { *out = wrap(get(x).reshape(shape_of(shape, rank))); });
}

ap_error ap_expand(ap_tensor x, const int64_t *shape, int rank, ap_tensor *out) {
  return guard([&] { *out = wrap(get(x).expand(shape_of(shape, rank))); });
}

ap_error ap_narrow(ap_tensor x, int64_t dim, int64_t start, int64_t length, ap_tensor *out) {
  return guard([&] { *out = wrap(get(x).narrow(dim, start, length)); });
}

ap_error ap_cat(ap_tensor *xs, int n, int64_t dim, ap_tensor *out) {
  return guard([&] {
    std::vector<at::Tensor> list;
    list.reserve(n);
    for (int i = 0; i < n; ++i) list.push_back(get(xs[i]));
    *out = wrap(at::cat(list, dim));
  });
}

ap_error ap_gather(ap_tensor x, int64_t dim, ap_tensor index, ap_tensor *out) {
  return guard([&] { *out = wrap(at::gather(get(x), dim, get(index))); });
}

ap_error ap_masked_fill(ap_tensor x, ap_tensor mask, double value, ap_tensor *out) {
  return guard([&] { *out = wrap(at::masked_fill(get(x), get(mask), value)); });
}

ap_error ap_index_put_rows(ap_tensor x, ap_tensor rows, int64_t total, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &a = get(x);
    TORCH_CHECK(a.dim() > 0, "a tensor without dimensions has no rows");
    auto sizes = a.sizes().vec();
    sizes[0] = total;
    *out = wrap(at::zeros(sizes, a.options()).index_copy(0, get(rows), a));
  });
}

ap_error ap_softmax(ap_tensor x, int64_t dim, ap_tensor *out) {
  return guard([&] { *out = wrap(at::softmax(get(x), dim)); });
}

ap_error ap_cumsum(ap_tensor x, int64_t dim, ap_tensor *out) {
  return guard([&] { *out = wrap(at::cumsum(get(x), dim)); });
}

ap_error ap_to(ap_tensor x, int dtype, const char *device, ap_tensor *out) {
  return guard([&] { *out = wrap(moved(get(x), at::Device(device), static_cast<at::ScalarType>(dtype))); });
}

ap_error ap_svd_values(ap_tensor x, ap_tensor *out) {
  return guard([&] { *out = wrap(at::linalg_svdvals(get(x))); });
}

ap_error ap_svd(ap_tensor x, ap_tensor *u, ap_tensor *s, ap_tensor *vh) {
  return guard([&] {
    auto [a, b, c] = at::linalg_svd(get(x), /*full_matrices=*/false);
    *u = wrap(a);
    *s = wrap(b);
    *vh = wrap(c);
  });
}

ap_error ap_eigh(ap_tensor x, ap_tensor *values, ap_tensor *vectors) {
  return guard([&] {
    auto [w, v] = at::linalg_eigh(get(x));
    *values = wrap(w);
    *vectors = wrap(v);
  });
}

ap_error ap_qr(ap_tensor x, ap_tensor *q, ap_tensor *r) {
  return guard([&] {
    auto [a, b] = at::linalg_qr(get(x));
    *q = wrap(a);
    *r = wrap(b);
  });
}

}  // extern "C"
