#include "thin.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "devices/isa.h"
#include "products.h"

namespace ap {
namespace {

// Four sums at a time, since one waits for itself at each addition.
AP_KERNEL(void, add_four_dots, const float *x, const float *w, int64_t K, float *to) {
  const float *w0 = w, *w1 = w + K, *w2 = w1 + K, *w3 = w2 + K;
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
  for (int64_t k = 0; k < K; ++k) {
    s0 += x[k] * w0[k];
    s1 += x[k] * w1[k];
    s2 += x[k] * w2[k];
    s3 += x[k] * w3[k];
  }
  to[0] += s0, to[1] += s1, to[2] += s2, to[3] += s3;
}

AP_KERNEL(void, add_dot, const float *x, const float *w, int64_t K, float *to) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t k = 0; k < K; ++k) sum += x[k] * w[k];
  *to += sum;
}

// Four rows at a time, since a sum is read and written once for them.
AP_KERNEL(void, add_four_rows, const float *x, const float *w, int64_t ldw, int64_t N, float *to) {
  const float *w0 = w, *w1 = w + ldw, *w2 = w1 + ldw, *w3 = w2 + ldw;
  const float x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
#pragma omp simd
  for (int64_t j = 0; j < N; ++j) {
    float sum = to[j];
    sum += x0 * w0[j];
    sum += x1 * w1[j];
    sum += x2 * w2[j];
    sum += x3 * w3[j];
    to[j] = sum;
  }
}

AP_KERNEL(void, add_row, float x, const float *w, int64_t N, float *to) {
#pragma omp simd
  for (int64_t j = 0; j < N; ++j) to[j] += x * w[j];
}

}  // namespace

void add_thin_dots(const float *a, const float *w, int64_t K, float *c, int64_t ldc, int64_t M, int64_t N) {
  int64_t n = 0;
  for (; n + 4 <= N; n += 4)
    for (int64_t m = 0; m < M; ++m) add_four_dots(a + m * K, w + n * K, K, c + m * ldc + n);
  for (; n < N; ++n)
    for (int64_t m = 0; m < M; ++m) add_dot(a + m * K, w + n * K, K, c + m * ldc + n);
}

void add_thin_sums(const float *a, const float *w, int64_t ldw, int64_t K, float *c, int64_t ldc, int64_t M, int64_t N) {
  int64_t k = 0;
  for (; k + 4 <= K; k += 4)
    for (int64_t m = 0; m < M; ++m) add_four_rows(a + m * K + k, w + k * ldw, ldw, N, c + m * ldc);
  for (; k < K; ++k)
    for (int64_t m = 0; m < M; ++m) add_row(a[m * K + k], w + k * ldw, N, c + m * ldc);
}

at::Tensor thin_product(const at::Tensor &x, const at::Tensor &w) {
  constexpr int64_t columns = 64;  // a piece of the work
  const int64_t M = x.size(0), K = x.size(1), N = w.size(0);
  at::Tensor c = at::zeros({M, N}, x.options());
  float *to = c.mutable_data_ptr<float>();
  at::parallel_for(0, (N + columns - 1) / columns, (1 << 18) / std::max<int64_t>(1, columns * K * M) + 1, [&](int64_t begin, int64_t end) {
    const int64_t n = begin * columns;
    const ProductTimer timer;
    add_thin_dots(x.const_data_ptr<float>(), w.const_data_ptr<float>() + n * K, K, to + n, N, M, std::min(end * columns, N) - n);
  });
  return c;
}

}  // namespace ap
