// The normaliser of the von Mises-Fisher density of unit vectors with m components,
//
//   p(e) = C_m(kappa) exp(kappa u . e),  C_m(kappa) = kappa^v / ((2 pi)^(m/2) I_v(kappa)),  v = m/2 - 1,
//
// for any m >= 1 and kappa in float64. Neither I_v nor kappa^v is ever formed: both
// leave the range of float64 where the density is ordinary.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace ap {

class VMFNormaliser {
 public:
  struct Value {
    double log_c;  // log C_m(kappa)
    double ratio;  // A_m(kappa) = I_(v+1)(kappa) / I_v(kappa) = -d log C_m / d kappa
    double slope;  // A_m(kappa) / kappa, 1/m at 0
  };

  explicit VMFNormaliser(int64_t m);

  Value operator()(double kappa) const;

  // The same for a float64 tensor, by operators of its device: about thirty, and three more for each recurrence.
  struct Values {
    at::Tensor log_c, ratio, slope;
  };
  Values operator()(const at::Tensor &kappa) const;

 private:
  static constexpr int kTerms = 8;       // of the expansion for large orders
  static constexpr double kOrder = 40;   // orders from here on are large: the first term left out is below 1e-15

  int steps_;       // recurrences from order order_ down to v
  double v_;        // m/2 - 1
  double order_;    // v + steps_
  double constant_; // the part of log C that does not depend on kappa
  double u_[kTerms][kTerms + 1];      // U_k(t) / order^k = t^k sum_i u_[k-1][i] t^(2 i)
};

}  // namespace ap
