// Handles (handle.cc).
#pragma once

#include "api_types.h"

AP_API void ap_free_text(char *text);
AP_API ap_error ap_from_data(const void *data, int dtype, const int64_t *shape, int rank, const char *device, ap_tensor *out);
AP_API ap_error ap_full(double value, int dtype, const int64_t *shape, int rank, const char *device, ap_tensor *out);
AP_API ap_error ap_arange(int64_t n, const char *device, ap_tensor *out);
AP_API void ap_enter_thread(void);  // makes this thread the one that tensors belong to
AP_API bool ap_adopt(void);         // counts a handle that gotorch made; false on another thread
AP_API void ap_free(ap_tensor *handles, int n);
AP_API int ap_rank(ap_tensor x);
AP_API int64_t ap_size(ap_tensor x, int dim);
AP_API int ap_dtype(ap_tensor x);
AP_API bool ap_device(ap_tensor x, char *name, int room);  // false, and no name, on the CPU
AP_API ap_error ap_copy_out(ap_tensor x, int dtype, void *data, int64_t count);  // as a contiguous CPU tensor of dtype
AP_API ap_error ap_numbers(ap_tensor *xs, int n, double *out);  // of tensors with one element, waiting once
AP_API ap_error ap_copy_in(ap_tensor x, int dtype, const void *data, int64_t count);  // in place, no gradient
AP_API ap_error ap_assign(ap_tensor x, ap_tensor value);                               // x.copy_(value), no gradient
AP_API int64_t ap_live_handles(void);
