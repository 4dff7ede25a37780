// Handles: making, freeing and copying tensors across the border.
#include <ATen/Functions.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api_handle.h"
#include "common.h"

namespace ap {

std::atomic<int64_t> live_handles{0};
thread_local bool torch_thread = false;

ap_error error_text(char kind, const std::string &text) {
  // Only the first line: what follows is libtorch's own call stack.
  const auto end = text.find('\n');
  const std::string line = kind + text.substr(0, end);
  return strdup(line.c_str());
}

at::TensorOptions options(int dtype, const char *device) {
  return at::TensorOptions().dtype(static_cast<at::ScalarType>(dtype)).device(at::Device(device));
}

void check_range(const at::Tensor &ids, int64_t rows, const char *id, const char *table) {
  if (ids.numel() == 0) return;
  const auto [least, most] = ids.aminmax();
  const int64_t low = least.item<int64_t>(), high = most.item<int64_t>();
  TORCH_CHECK(low >= 0 && high < rows, id, " of ", low < 0 ? low : high, " is outside ", table, " of ", rows);
}

}  // namespace ap

using namespace ap;

extern "C" {

void ap_free_text(char *text) { free(text); }

ap_error ap_from_data(const void *data, int dtype, const int64_t *shape, int rank, const char *device, ap_tensor *out) {
  return guard([&] {
    const auto type = static_cast<at::ScalarType>(dtype);
    at::Tensor x = at::empty(shape_of(shape, rank), at::TensorOptions().dtype(type));
    if (x.numel() > 0) memcpy(x.data_ptr(), data, x.nbytes());
    *out = wrap(moved(x, at::Device(device), type));
  });
}

ap_error ap_full(double value, int dtype, const int64_t *shape, int rank, const char *device, ap_tensor *out) {
  return guard([&] { *out = wrap(at::full(shape_of(shape, rank), value, options(dtype, device))); });
}

ap_error ap_arange(int64_t n, const char *device, ap_tensor *out) {
  return guard([&] { *out = wrap(at::arange(n, at::TensorOptions().dtype(at::kLong).device(at::Device(device)))); });
}

void ap_enter_thread(void) { torch_thread = true; }

bool ap_adopt(void) {
  ++live_handles;
  return torch_thread;
}

void ap_free(ap_tensor *handles, int n) {
  for (int i = 0; i < n; ++i) {
    if (!handles[i]) continue;
    delete static_cast<at::Tensor *>(handles[i]);
    --live_handles;
  }
}

int ap_rank(ap_tensor x) { return static_cast<int>(get(x).dim()); }
int64_t ap_size(ap_tensor x, int dim) { return get(x).size(dim); }
int ap_dtype(ap_tensor x) { return static_cast<int>(get(x).scalar_type()); }

bool ap_device(ap_tensor x, char *name, int room) {
  if (get(x).is_cpu()) return false;
  snprintf(name, room, "%s", get(x).device().str().c_str());
  return true;
}

ap_error ap_copy_out(ap_tensor x, int dtype, void *data, int64_t count) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    at::Tensor flat = get(x).detach().to(at::kCPU, static_cast<at::ScalarType>(dtype)).contiguous();
    TORCH_CHECK(flat.numel() == count, "the tensor has ", flat.numel(), " elements, the slice ", count);
    if (count > 0) memcpy(data, flat.data_ptr(), flat.nbytes());
  });
}

ap_error ap_numbers(ap_tensor *xs, int n, double *out) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    std::vector<at::Tensor> elsewhere;
    for (int i = 0; i < n; ++i) {
      const at::Tensor &x = get(xs[i]);
      TORCH_CHECK(x.numel() == 1, "a tensor of shape ", x.sizes(), " is not one number");
      if (x.is_cpu())
        out[i] = x.item<double>();
      else
        elsewhere.push_back(x.is_floating_point() ? x.detach().reshape({1}) : x.reshape({1}).to(at::kDouble));
    }
    if (elsewhere.empty()) return;
    const at::Tensor all = at::cat(elsewhere).cpu().to(at::kDouble);  // in the widest of their types
    const double *next = all.const_data_ptr<double>();
    for (int i = 0; i < n; ++i)
      if (!get(xs[i]).is_cpu()) out[i] = *next++;
  });
}

ap_error ap_copy_in(ap_tensor x, int dtype, const void *data, int64_t count) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    at::Tensor target = get(x).detach();
    TORCH_CHECK(target.numel() == count, "the tensor has ", target.numel(), " elements, the slice ", count);
    at::Tensor source = at::from_blob(const_cast<void *>(data), target.sizes(), at::TensorOptions().dtype(static_cast<at::ScalarType>(dtype)));
    target.copy_(source, returns_at_once(at::kCPU, target.device()));
  });
}

ap_error ap_assign(ap_tensor x, ap_tensor value) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    get(x).detach().copy_(get(value).detach(), returns_at_once(get(value).device(), get(x).device()));
  });
}

int64_t ap_live_handles(void) { return live_handles; }

}  // extern "C"
