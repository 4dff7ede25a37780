// Devices and the library itself (device.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_set_threads(int n);
AP_API int ap_threads(void);
AP_API const char *ap_version(void);
AP_API ap_error ap_cuda_load(const char *folder);
AP_API int ap_cuda_devices(void);
AP_API ap_error ap_allow_tf32(bool value);  // in products and recurrent layers on CUDA devices
AP_API ap_error ap_synchronize(const char *device);
AP_API bool ap_registered_device(const char *name);  // one that a library brought, by its name in libtorch
AP_API int64_t ap_device_peak_bytes(const char *device);
AP_API int64_t ap_device_live_bytes(const char *device);
AP_API void ap_device_reset_peak_bytes(const char *device);
AP_API bool ap_cuda_name(const char *device, char *name, int size);  // false where there is no such device
AP_API const char *ap_csrc_digest(void);
