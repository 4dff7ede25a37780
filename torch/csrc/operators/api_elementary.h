// Elementary operators that gotorch lacks (elementary.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_unary(int op, ap_tensor x, ap_tensor *out);
AP_API ap_error ap_scalar(int op, ap_tensor x, double value, ap_tensor *out);
AP_API ap_error ap_compare(int op, ap_tensor a, ap_tensor b, ap_tensor *out);
AP_API ap_error ap_reduce(int op, ap_tensor x, int64_t dim, bool keep, ap_tensor *out);
AP_API ap_error ap_matmul(ap_tensor a, ap_tensor b, ap_tensor *out);
AP_API ap_error ap_reshape(ap_tensor x, const int64_t *shape, int rank, ap_tensor *out);
AP_API ap_error ap_expand(ap_tensor x, const int64_t *shape, int rank, ap_tensor *out);
AP_API ap_error ap_narrow(ap_tensor x, int64_t dim, int64_t start, int64_t length, ap_tensor *out);
AP_API ap_error ap_cat(ap_tensor *xs, int n, int64_t dim, ap_tensor *out);
AP_API ap_error ap_gather(ap_tensor x, int64_t dim, ap_tensor index, ap_tensor *out);
AP_API ap_error ap_masked_fill(ap_tensor x, ap_tensor mask, double value, ap_tensor *out);
AP_API ap_error ap_index_put_rows(ap_tensor x, ap_tensor rows, int64_t total, ap_tensor *out);
AP_API ap_error ap_softmax(ap_tensor x, int64_t dim, ap_tensor *out);
AP_API ap_error ap_cumsum(ap_tensor x, int64_t dim, ap_tensor *out);
AP_API ap_error ap_to(ap_tensor x, int dtype, const char *device, ap_tensor *out);
AP_API ap_error ap_svd_values(ap_tensor x, ap_tensor *out);
AP_API ap_error ap_svd(ap_tensor x, ap_tensor *u, ap_tensor *s, ap_tensor *vh);
AP_API ap_error ap_eigh(ap_tensor x, ap_tensor *values, ap_tensor *vectors);
AP_API ap_error ap_qr(ap_tensor x, ap_tensor *q, ap_tensor *r);
