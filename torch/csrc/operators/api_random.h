// Random streams: a draw is a function of (seed, offset) only (random.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_random_uniform(uint64_t seed, uint64_t offset, double low, double high, int dtype, const int64_t *shape, int rank,
                                  const char *device, ap_tensor *out);
AP_API ap_error ap_random_normal(uint64_t seed, uint64_t offset, double mean, double stddev, int dtype, const int64_t *shape, int rank,
                                 const char *device, ap_tensor *out);
AP_API ap_error ap_dropout(ap_tensor x, double p, uint64_t seed, uint64_t offset, ap_tensor *out);
AP_API ap_error ap_dropout_mask(double p, uint64_t seed, uint64_t offset, int dtype, const int64_t *shape, int rank, const char *device,
                                ap_tensor *out);
AP_API ap_error ap_noise(ap_tensor x, double deviation, uint64_t seed, uint64_t offset, ap_tensor *out);
