// Locked dropout and the means of activation regularisation on an accelerator, where each of libtorch's operators is a
// launch: with formulas of their own they take half the launches of composed ones with autograd's.
//
// Legend: T time steps, B columns, D width.
#include <ATen/Functions.h>

#include "api_regularisation.h"
#include "border/common.h"
#include "border/operator.h"
#include "dropout.h"

namespace ap {
namespace {

// x [T,B,D] times a mask [1,B,D] of zeros and ones times scale. libtorch's operator for the gradient of dropout is that
// product.
class Masked : public Operator {
 public:
  Masked(const at::Tensor &keep_1BD, double scale) : keep_1BD_(keep_1BD), scale_(scale) {}
  Tensors forward(const Tensors &operands) override { return {masked(operands[0])}; }
  Tensors backward(const Tensors &grads) override { return {masked(grads[0])}; }

 private:
  at::Tensor masked(const at::Tensor &x) const { return at::native_dropout_backward(x, keep_1BD_.expand_as(x), scale_); }

  at::Tensor keep_1BD_;
  double scale_;
};

at::Tensor square_sum(const at::Tensor &x) { return at::dot(x.reshape(-1), x.reshape(-1)); }

struct MeanSquare : Operator {
  Tensors forward(const Tensors &operands) override {
    const at::Tensor &x = operands[0];
    save_for_backward({x});
    return {square_sum(x).mul_(1.0 / static_cast<double>(x.numel()))};
  }

  Tensors backward(const Tensors &grads) override {
    const at::Tensor x = saved_tensors()[0];
    return {x * (grads[0] * (2.0 / static_cast<double>(x.numel())))};
  }
};

struct MeanSquareChange : Operator {
  Tensors forward(const Tensors &operands) override {
    const at::Tensor &x = operands[0];
    const int64_t T = x.size(0);
    const at::Tensor change = x.narrow(0, 1, T - 1) - x.narrow(0, 0, T - 1);
    save_for_backward({change});
    return {square_sum(change).mul_(1.0 / static_cast<double>(change.numel()))};
  }

  Tensors backward(const Tensors &grads) override {
    const at::Tensor change = saved_tensors()[0];
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
    *out = wrap(recorded<Masked>({plain}, keep_1BD, 1 / (1 - p))[0]);
  });
}

ap_error ap_mean_square(ap_tensor x, bool change, ap_tensor *out) {
  return guard([&] {
    const at::Tensor &X = get(x);
    TORCH_CHECK(X.numel() > 0 && (!change || (X.dim() > 0 && X.size(0) > 1)), "a tensor of shape ", X.sizes(), " has no mean square",
                change ? " of changes" : "");
    *out = wrap((change ? recorded<MeanSquareChange>({X}) : recorded<MeanSquare>({X}))[0]);
  });
}

}  // extern "C"
