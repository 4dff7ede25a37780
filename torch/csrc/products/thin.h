// Products of one to three rows with a matrix as it lies in memory, which is read
// once, at the speed of memory. MKL's strict mode (mkl_dispatch.cc) lays such a
// matrix out anew for each product, which takes as long again.
//
// The bits do not depend on how columns are shared among threads.
#pragma once

#include <ATen/Tensor.h>

#include <cstdint>

namespace ap {

constexpr int64_t kThin = 3;  // rows, at most

// c_MN += a_MK w_NK^T. Rows of c stand ldc apart.
void add_thin_dots(const float *a, const float *w, int64_t K, float *c, int64_t ldc, int64_t M, int64_t N);

// c_MN += a_MK w_KN. Rows of w and of c stand ldw and ldc apart.
void add_thin_sums(const float *a, const float *w, int64_t ldw, int64_t K, float *c, int64_t ldc, int64_t M, int64_t N);

// x_MK w_NK^T on all threads, of contiguous float32 tensors.
at::Tensor thin_product(const at::Tensor &x, const at::Tensor &w);

}  // namespace ap
