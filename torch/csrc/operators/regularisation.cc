// Locked dropout and the means of activation regularisation on an accelerator, where each of libtorch's operators is a
// launch: with formulas of their own they take half as many as composed ones do with autograd's.
//
// Legend: T time steps, B columns, D width.
#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include "api_regularisation.h"
#include "border/common.h"
#include "dropout.h"

namespace ap {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// x [T,B,D] times a mask [1,B,D] of zeros and ones times scale. libtorch's operator for the gradient of dropout is that product.
struct Masked : torch::autograd::Function<Masked> {
  static at::Tensor forward(AutogradContext *ctx, const at::Tensor &x, const at::Tensor &keep_1BD, double scale) {
    ctx->save_for_backward({keep_1BD});
    ctx->saved_data["scale"] = scale;
    return at::native_dropout_backward(x, keep_1BD.expand_as(x), scale);
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    const at::Tensor keep_1BD = ctx->get_saved_variables()[0];
    return {at::native_dropout_backward(grads[0], keep_1BD.expand_as(grads[0]), ctx->saved_data["scale"].toDouble()), {}, {}};
  }
};

at::Tensor square_sum(const at::Tensor &x) { return at::dot(x.reshape(-1), x.reshape(-1)); }

struct MeanSquare : torch::autograd::Function<MeanSquare> {
  static at::Tensor forward(AutogradContext *ctx, const at::Tensor &x) {
    ctx->save_for_backward({x});
    return square_sum(x).mul_(1.0 / static_cast<double>(x.numel()));
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    return {x * (grads[0] * (2.0 / static_cast<double>(x.numel())))};
  }
};

struct MeanSquareChange : torch::autograd::Function<MeanSquareChange> {
  static at::Tensor forward(AutogradContext *ctx, const at::Tensor &x) {
    const int64_t T = x.size(0);
    const at::Tensor change = x.narrow(0, 1, T - 1) - x.narrow(0, 0, T - 1);
    ctx->save_for_backward({change});
    return square_sum(change).mul_(1.0 / static_cast<double>(change.numel()));
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    const at::Tensor change = ctx->get_saved_variables()[0];
    const int64_t T = change.size(0) + 1;
    const at::Tensor factor = grads[0] * (2.0 / static_cast<double>(change.numel()));
    at::DimVector shape(change.sizes());
    shape[0] = T;
    at::Tensor gx = at::empty(shape, change.options()), later = gx.narrow(0, 1, T - 1);
    at::mul_out(later, change, factor);
    gx.narrow(0, 0, 1).zero_();
    gx.narrow(0, 0, T - 1).addcmul_(change, factor, -1);
    return {gx};
  }
};

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" {

ap_error ap_locked_dropout(ap_tensor x, double p, uint64_t seed, uint64_t offset, ap_tensor *out) {
  return guard([&] {
    check_dropout(p);
    const at::Tensor &plain = get(x);
    TORCH_CHECK(plain.dim() == 3, "an input of shape ", plain.sizes(), " is not [steps, columns, width]");
    const at::Tensor keep_1BD = at::empty({1, plain.size(1), plain.size(2)}, plain.options().dtype(at::kBool));
    keep_1BD.bernoulli_(1 - p, device_generator(plain, DrawKey(seed, offset)));
    *out = wrap(Masked::apply(plain, keep_1BD, 1 / (1 - p)));
  });
}

ap_error ap_mean_square(ap_tensor x, bool change, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &X = get(x);
    TORCH_CHECK(X.numel() > 0 && (!change || (X.dim() > 0 && X.size(0) > 1)), "a tensor of shape ", X.sizes(), " has no mean square",
                change ? " of changes" : "");
    *out = wrap(change ? MeanSquareChange::apply(X) : MeanSquare::apply(X));
  });
}

}  // extern "C"
