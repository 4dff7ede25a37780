// The SetNumThreads that gotorch calls. Its package init asks for half the
// processors, which is none on a machine with one, and its own version lets
// libtorch's exception for that reach Go, which aborts. build.sh compiles
// gotorch's version under another name.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

extern "C" __attribute__((visibility("default"))) void SetNumThreads(int32_t n) {
  try {
    at::set_num_threads(std::max<int32_t>(n, 1));
  } catch (...) {
    // The number of threads stays as it was; torch sets the one it wants later, with errors reported.
  }
}
