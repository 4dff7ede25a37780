#include "mixture_row.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "devices/isa.h"
#include "softmax_row.h"

namespace ap {
namespace {

// total_j += exp(row_j + lift - top_j). A function of its own, since within the loop over components g++ 12
// leaves it scalar, which costs five times as much.
AP_KERNEL(void, add_exponentials_float, const float *row, float lift, const float *top, int64_t n, float *total) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) total[j] += exp_nonpositive(row[j] + lift - top[j]);
}

void add_exponentials(const float *row, float lift, const float *top, int64_t n, float *total) { add_exponentials_float(row, lift, top, n, total); }

void add_exponentials(const double *row, double lift, const double *top, int64_t n, double *total) {
  for (int64_t j = 0; j < n; ++j) total[j] += std::exp(row[j] + lift - top[j]);
}

// The bodies, which each instruction set compiles for itself.

template <class T>
[[gnu::always_inline]] inline double log_mixture_body(const Component<T> *components, int64_t K, int64_t begin, int64_t end, T *mix) {
  const int64_t n = end - begin;
  T top[kTile], total[kTile];
  for (int64_t k = 0; k < K; ++k) {
    const T *row = components[k].row + begin, lift = components[k].lift;
    if (k == 0) {
      for (int64_t j = 0; j < n; ++j) top[j] = row[j] + lift;
      continue;
    }
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) top[j] = row[j] + lift > top[j] ? row[j] + lift : top[j];
  }
  for (int64_t j = 0; j < n; ++j) total[j] = 0;
  T base[kTile];  // a word that no component can give has 0 under its exponentials, which are 0 then
  for (int64_t j = 0; j < n; ++j) base[j] = top[j] == -std::numeric_limits<T>::infinity() ? 0 : top[j];
  for (int64_t k = 0; k < K; ++k) add_exponentials(components[k].row + begin, components[k].lift, base, n, total);
  double sum = 0;
  for (int64_t j = 0; j < n; ++j) {
    mix[begin + j] = top[j] + std::log(total[j]);
    sum += mix[begin + j];
  }
  return sum;
}

template <class T>
[[gnu::always_inline]] inline void responsibilities_body(Component<T> *components, int64_t K, int64_t begin, int64_t end, const T *mix) {
  for (int64_t k = 0; k < K; ++k) {
    const T *row = components[k].row, lift = components[k].lift;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = begin; j < end; ++j) sum += exp_of(row[j] + lift - mix[j]);
    components[k].others += sum;
  }
}

template <class T>
[[gnu::always_inline]] inline void differentiate_body(const Component<T> &c, int64_t begin, int64_t end, T off, const T *mix) {
  const T lse = c.lse, lift = c.lift, factor = c.factor;
  T *row = c.row;
#pragma omp simd
  for (int64_t j = begin; j < end; ++j) row[j] = factor * exp_of(row[j] - lse) - off * exp_of(row[j] + lift - mix[j]);
}

AP_KERNEL(double, log_mixture_float, const Component<float> *components, int64_t K, int64_t begin, int64_t end, float *mix) {
  return log_mixture_body(components, K, begin, end, mix);
}

AP_KERNEL(void, responsibilities_float, Component<float> *components, int64_t K, int64_t begin, int64_t end, const float *mix) {
  responsibilities_body(components, K, begin, end, mix);
}

AP_KERNEL(void, differentiate_float, const Component<float> &c, int64_t begin, int64_t end, float off, const float *mix) {
  differentiate_body(c, begin, end, off, mix);
}

}  // namespace

double log_sum_exp(const std::vector<double> &x) {
  double top = -std::numeric_limits<double>::infinity(), total = 0;
  for (double v : x) top = v > top || v != v ? v : top;  // not a number where one is none
  if (std::isinf(top)) return top;
  for (double v : x) total += std::exp(v - top);
  return top + std::log(total);
}

double log_mixture(const Component<float> *components, int64_t K, int64_t begin, int64_t end, float *mix) {
  return log_mixture_float(components, K, begin, end, mix);
}

double log_mixture(const Component<double> *components, int64_t K, int64_t begin, int64_t end, double *mix) {
  return log_mixture_body(components, K, begin, end, mix);
}

void add_responsibilities(Component<float> *components, int64_t K, int64_t begin, int64_t end, const float *mix) {
  responsibilities_float(components, K, begin, end, mix);
}

void add_responsibilities(Component<double> *components, int64_t K, int64_t begin, int64_t end, const double *mix) {
  responsibilities_body(components, K, begin, end, mix);
}

void differentiate(const Component<float> &c, int64_t begin, int64_t end, float off, const float *mix) {
  differentiate_float(c, begin, end, off, mix);
}

void differentiate(const Component<double> &c, int64_t begin, int64_t end, double off, const double *mix) {
  differentiate_body(c, begin, end, off, mix);
}

}  // namespace ap
