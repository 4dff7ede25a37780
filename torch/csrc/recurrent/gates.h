// The functions of recurrent layers' gates, in forms that compilers vectorise.
#pragma once

#include <cmath>

#include "devices/vector_exp.h"

namespace ap {

// exp_nonpositive gives a number for what is none, which must not get lost here.
inline float logistic(float x) {
  const float e = exp_nonpositive(-std::fabs(x)), r = 1 / (1 + e);
  return x != x ? x : x < 0 ? e * r : r;
}

// Near 0 by its series, so that small values keep all their digits.
inline float hyperbolic_tangent(float x) {
  const float z = x * x, e = exp_nonpositive(-2 * std::fabs(x));
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float far = (1 - e) / (1 + e);
  return x != x ? x : z < 0.390625f ? x + x * z * p : x < 0 ? -far : far;
}

}  // namespace ap
