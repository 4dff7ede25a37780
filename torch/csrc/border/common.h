// What every file of the C++ side shares: the error convention and handles.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <atomic>
#include <string>

#include "api_types.h"

namespace ap {

// The allocation counter behind ap_live_handles.
extern std::atomic<int64_t> live_handles;

// True on the thread that all tensors belong to.
extern thread_local bool torch_thread;

inline at::Tensor &get(ap_tensor x) { return *static_cast<at::Tensor *>(x); }

inline ap_tensor wrap(at::Tensor x) {
  TORCH_CHECK(torch_thread, "called outside torch.Main and torch.Do; tensors belong to one thread");
  auto *handle = new at::Tensor(std::move(x));
  ++live_handles;
  return handle;
}

inline at::IntArrayRef shape_of(const int64_t *shape, int rank) { return at::IntArrayRef(shape, rank); }

ap_error error_text(char kind, const std::string &text);

// guard runs body and turns whatever it throws into the error convention.
template <class F>
ap_error guard(F body) {
  try {
    body();
    return nullptr;
  } catch (const c10::OutOfMemoryError &e) {
    return error_text('m', e.what_without_backtrace());
  } catch (const c10::Error &e) {
    return error_text('e', e.what_without_backtrace());
  } catch (const std::bad_alloc &e) {
    return error_text('m', "the C++ heap is full");
  } catch (const std::exception &e) {
    return error_text('e', e.what());
  } catch (...) {
    return error_text('e', "an unknown C++ exception");
  }
}

at::TensorOptions options(int dtype, const char *device);

// Refuses operands of two devices: kernels of ours would read memory of the one as if it were the other's. y may be
// undefined.
inline void check_together(const at::Tensor &x, const at::Tensor &y) {
  TORCH_CHECK(!y.defined() || y.device() == x.device(), "operands lie on ", x.device(), " and on ", y.device());
}

// Whether a copy may go on after its call has returned. From memory of the host that is not pinned, and none of ours
// is, the driver takes the bytes before it returns; without this, libtorch would wait until the device had done all
// that it was asked for before.
inline bool returns_at_once(at::Device from, at::Device to) { return from.is_cpu() && !to.is_cpu(); }

// x on a device and of a type, without waiting where x comes from the host.
inline at::Tensor moved(const at::Tensor &x, at::Device device, at::ScalarType type) {
  return x.to(device, type, returns_at_once(x.device(), device));
}

// Refuses ids that are not rows of a table.
void check_range(const at::Tensor &ids, int64_t rows, const char *id, const char *table);

// The gradient of a loss times what comes in from above, which is 1 almost always; on a device nothing waits to see
// that.
inline at::Tensor times_incoming(at::Tensor gradient, const at::Tensor &incoming) {
  if (!incoming.is_cpu()) return gradient.mul_(incoming);
  const double factor = incoming.item<double>();
  return factor == 1 ? gradient : gradient.mul_(factor);
}

}  // namespace ap
