// Bytes held by tensors on the CPU (allocator.cc).
#pragma once

#include "api_types.h"

AP_API int64_t ap_live_bytes(void);
AP_API int64_t ap_peak_bytes(void);
AP_API void ap_reset_peak_bytes(void);
AP_API void ap_limit_bytes(int64_t most);
