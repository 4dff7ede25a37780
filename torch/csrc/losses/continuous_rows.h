// The continuous losses by operators on whole columns of rows: on an accelerator, and for types that have no kernel of
// ours. continuous_loss.cc has the formulas for one row, which these are, and says what they mean.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace ap {

// The order is that of the constants in torch/continuous.go.
enum ContinuousKind { kNLL, kReg1, kReg2, kReg1Reg2, kLog1p, kPowerSpherical, kSquaredL2, kRootedL2, kCosine, kMaxMargin };

// Shorter vectors have no direction: their cosine counts as 0, without a gradient.
constexpr double kNoDirection = 1e-8;
// The least 1 + cosine that the power spherical density is differentiated at; it vanishes at -1.
constexpr double kAntipode = 1e-6;

struct ContinuousForm {
  int kind;
  double lambda1, lambda2;
};

struct ContinuousRows {
  at::Tensor loss_N, nll_N;  // in float64, 0 at ignored targets
  at::Tensor gradient(double scale) const;  // [N,M] in float64

  at::Tensor h_NM, e_NM, n_NM;           // the vectors in float64
  at::Tensor of_h_N, of_e_N, of_n_N;     // the gradient is of_h h + of_e e + of_n n
  at::Tensor ignored_N;
};

// Targets, and negatives where there are any, may lie on the host; nothing waits for the device.
ContinuousRows continuous_rows(const ContinuousForm &form, const at::Tensor &h_NM, const at::Tensor &table_VM, const at::Tensor &targets_N,
                               const std::optional<at::Tensor> &negatives_N, int64_t ignore);

}  // namespace ap
