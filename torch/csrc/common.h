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

}  // namespace ap
