// What every header of the border between Go and libtorch shares; api.h says how
// handles and errors are passed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define AP_API extern "C" __attribute__((visibility("default")))
#else
#define AP_API
#endif

typedef void *ap_tensor;
typedef char *ap_error;
