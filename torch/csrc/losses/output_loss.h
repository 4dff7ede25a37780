// What the losses of a softmax and of a mixture of softmaxes share: a linear layer
// to the logits of a vocabulary, taken for a chunk of positions at a time, with
// label smoothing, shifts and ignored targets. A softmax is a mixture of one
// component, without a prior.
//
//   logits_RV = h_RD W_VD^T + b_V, the K rows of each position of a chunk
//
// The gradient of the summed, scaled loss is computed in the forward pass, while
// the chunk's logits are at hand; the backward pass only multiplies by the
// incoming scalar (given_gradients.h). So nothing of size N x K x V is ever kept.
//
// What the two do with the logits of a position is a kernel: softmax_loss.cc and
// mixture_loss.cc have theirs.
//
// Legend: N positions, C positions of a chunk, K components, R = C K rows of a
// chunk, D width, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "api_loss_options.h"

namespace ap {

// What a kernel goes by. A position pays on * nll + off * sum_j (-log p_j); the
// scale is that of the gradients. gradients says whether any are computed.
struct Terms : ap_loss_options {
  double on, off;
  // A generic kernel's gradients lack the scale and the -off that all elements have: the products of what they have are
  // corrected instead (output_loss.cc), which takes two passes over the logits less.
  bool bare;
  at::ScalarType product;  // in which gradients go into the products
};

// What belongs to each position, or to each of its components. Of a softmax the
// prior is undefined and so are a shift and its result where there is none;
// gradients are undefined where nobody wants them.
struct Positions {
  at::Tensor prior_NK, shift;    // scores of the prior; shifts [N,K], of a softmax [N]
  at::Tensor nll_N, shifted_N;   // the clean loss and the shifted one
  at::Tensor g_prior_NK, g_shift;
  Positions narrow(int64_t start, int64_t length) const;
};

// Turns the logits of a chunk into their gradients, where they are wanted, fills
// the results of its positions, and returns the sum of their losses.
using LossKernel = double (*)(at::Tensor &logits_RV, const at::Tensor &targets_C, const Terms &terms, const Positions &positions);

// The same, with a sum times the scale, which stays where the logits are, so that nothing waits for a device.
using GenericLossKernel = at::Tensor (*)(at::Tensor &logits_RV, const at::Tensor &targets_C, const Terms &terms, const Positions &positions);

// The kernels for float32, whose logits may be bfloat16 (LogitRows), and float64 on the CPU, and the one for everything
// else.
struct LossKernels {
  LossKernel float32, float64;
  GenericLossKernel generic;
};

// weighted for a sum that stays on its device.
at::Tensor weighted_sum(double weight, const at::Tensor &x);

// The operands; prior, bias and shift may be NULL. Targets may lie on the host where all else is on a device: which of
// them count is then known without waiting.
struct Operands {
  ap_tensor hidden, prior, weight, bias, targets, shift;
};

void output_loss(const LossKernels &kernels, const Operands &operands, const ap_loss_options &options, ap_tensor *loss, ap_tensor *nll,
                 ap_tensor *shifted);

// For kernels: the elements of a tensor, NULL of an undefined one.
template <class T>
T *elements(const at::Tensor &x) {
  return x.defined() ? x.mutable_data_ptr<T>() : nullptr;
}

// For kernels: the sum of losses that threads fill in for ranges of the C
// positions, taken in the order of the positions, whatever the threads did.
double sum_positions(int64_t C, const std::function<void(int64_t begin, int64_t end, double *losses)> &fill);

}  // namespace ap
