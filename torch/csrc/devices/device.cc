// Threads, versions, and CUDA found at run time.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <algorithm>

#include "api_device.h"
#include "border/common.h"

using namespace ap;

namespace {

// Calls f with an accelerator's allocator and the device's index; the CPU and what is not there are left out.
template <typename F>
void with_allocator(const char *device, F f) {
  try {
    const at::Device d(device);
    if (d.is_cpu() || (d.is_cuda() && !at::hasCUDA())) return;
    f(at::getDeviceAllocator(d.type()), d.has_index() ? d.index() : 0);
  } catch (...) {
  }
}

// Bytes of tensors on an accelerator; zeros where there is none.
c10::CachingAllocator::Stat allocated(const char *device) {
  c10::CachingAllocator::Stat bytes;
  with_allocator(device, [&](c10::DeviceAllocator *allocator, c10::DeviceIndex i) { bytes = allocator->getDeviceStats(i).allocated_bytes[0]; });
  return bytes;
}

}  // namespace

extern "C" {

ap_error ap_set_threads(int n) {
  return guard([&] {
    TORCH_CHECK(n >= 1, "the number of threads must be at least 1, not ", n);
    at::set_num_threads(n);
  });
}

int ap_threads(void) { return at::get_num_threads(); }
const char *ap_version(void) { return TORCH_VERSION; }

ap_error ap_cuda_load(const char *folder) {
  return guard([&] {
    // CUDA's hooks are looked up once and the answer is kept, so the library
    // has to be there before the first query.
    const std::string path = std::string(folder) + "/libtorch_cuda.so";
    TORCH_CHECK(dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL), dlerror());
  });
}

int ap_cuda_devices(void) {
  try {
    return at::hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
  } catch (...) {
    return 0;
  }
}

ap_error ap_allow_tf32(bool value) {
  return guard([&] {
    at::globalContext().setAllowTF32CuBLAS(value);
    at::globalContext().setAllowTF32CuDNN(value);
  });
}

ap_error ap_synchronize(const char *device) {
  return guard([&] {
    const at::Device d(device);
    if (d.is_cpu()) return;
    const auto *impl = c10::impl::getDeviceGuardImpl(d.type());
    impl->synchronizeDevice(d.has_index() ? d.index() : 0);
  });
}

bool ap_registered_device(const char *name) {
  try {
    const at::Device d(name);
    return d.is_privateuseone() && at::isPrivateUse1HooksRegistered() && at::detail::getPrivateUse1Hooks().deviceCount() > std::max<int>(d.index(), 0);
  } catch (...) {
    return false;
  }
}

int64_t ap_device_peak_bytes(const char *device) { return allocated(device).peak; }
int64_t ap_device_live_bytes(const char *device) { return allocated(device).current; }
void ap_device_reset_peak_bytes(const char *device) {
  with_allocator(device, [](c10::DeviceAllocator *allocator, c10::DeviceIndex i) { allocator->resetPeakStats(i); });
}

bool ap_cuda_name(const char *device, char *name, int size) {
  try {
    const at::Device d(device);
    // The driver's library, which libtorch's CUDA side has loaded and initialised.
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver == nullptr) return false;
    auto *get = reinterpret_cast<int (*)(char *, int, int)>(dlsym(driver, "cuDeviceGetName"));
    return get != nullptr && get(name, size, d.has_index() ? d.index() : 0) == 0;
  } catch (...) {
    return false;
  }
}

}  // extern "C"
