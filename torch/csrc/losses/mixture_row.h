// The rows of logits that the components of a mixture have at one position:
// what its loss and its log-probabilities share.
//
//   log P_j = log sum_k exp(row_kj + lift_k),  q_kj = exp(row_kj + lift_k) / P_j
//
// Legend: K components, V vocabulary.
#pragma once

#include <cstdint>
#include <vector>

namespace ap {

template <class T>
struct Component {
  T *row;         // its logits
  T lift;         // log pi_k - lse_k, the latter as the smoothed mass sees it
  T lse;          // lse'_k
  T factor;       // of exp(row_j - lse) in the gradient
  double shrunk;  // exp(lse'_k - lse_k) for the lse that the smoothed mass sees
  double others;  // sum of q_kj
};

constexpr int64_t kTile = 256;  // columns whose K rows stay in the nearest cache

// log sum_k exp(x_k) of a few values.
double log_sum_exp(const std::vector<double> &x);

// sum_j log P_j over [begin, end), at most kTile columns; mix_j receives log P_j.
double log_mixture(const Component<float> *components, int64_t K, int64_t begin, int64_t end, float *mix);
double log_mixture(const Component<double> *components, int64_t K, int64_t begin, int64_t end, double *mix);

// Adds each component's q_kj over [begin, end) to its others; mix_j is log P_j.
void add_responsibilities(Component<float> *components, int64_t K, int64_t begin, int64_t end, const float *mix);
void add_responsibilities(Component<double> *components, int64_t K, int64_t begin, int64_t end, const double *mix);

// row_j = factor * exp(row_j - lse) - off * q_j over [begin, end); mix_j is log P_j.
void differentiate(const Component<float> &c, int64_t begin, int64_t end, float off, const float *mix);
void differentiate(const Component<double> &c, int64_t begin, int64_t end, double off, const double *mix);

}  // namespace ap
