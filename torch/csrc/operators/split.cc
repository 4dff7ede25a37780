#include <ATen/Functions.h>

#include "api_split.h"
#include "border/common.h"

using namespace ap;

extern "C" ap_error ap_split(ap_tensor x, int dim, const int64_t *sizes, int n, ap_tensor *out) {
  return guard([&] {
    const std::vector<at::Tensor> parts = at::split_with_sizes(get(x), at::IntArrayRef(sizes, n), dim);
    for (int i = 0; i < n; ++i) out[i] = wrap(parts[i]);
  });
}
