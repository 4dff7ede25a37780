// The allocator of CPU tensors: glibc's heap, counted.
//
// Counting gives exact live and peak bytes. Telling malloc to keep large blocks
// instead of returning them to the kernel after each use spares a step the page
// faults of mapping its activations anew. That takes one arena for all threads:
// the arenas of threads other than the first cannot hold blocks above 64 MB.
// Large blocks ask for huge pages, which kernels give to those who ask.
//
// Blocks are aligned here. posix_memalign looks for a piece that is larger than the block and cuts it, so that what it
// gave back is too small for the next block of that size, and memory grows: twelve blocks of 200 MB, one after the
// other, with a small one made in between, took 1,800 MB.
//
// oneDNN, and libtorch's side of it, each keep what they prepared for the last 1,024 shapes that were multiplied, half
// a megabyte each. A translator's training in bfloat16 has that number within an epoch, since its batches have all
// lengths; preparing one takes 0.2 ms. An update has some thirty, and 128 are kept.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <atomic>
#include <cstdlib>

#include "api_allocator.h"
#include "common.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#endif

namespace {

std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> peak_bytes{0};
std::atomic<int64_t> limit_bytes{INT64_MAX};  // of live_bytes

constexpr size_t kAlignment = 64;  // one cache line, the widest vector load

// Memory and swap of the machine. A kernel that overcommits hands out more, and
// kills the process when it is written to; refused here, it is an error.
size_t machine_bytes() {
  struct sysinfo info;
  if (sysinfo(&info) != 0) return SIZE_MAX;
  return (static_cast<size_t>(info.totalram) + info.totalswap) * info.mem_unit;
}

const size_t most_bytes = machine_bytes();

// The huge pages that lie wholly in a block. Where the kernel has none this fails, and nothing is lost.
void ask_for_huge_pages(void *data, size_t nbytes) {
  constexpr uintptr_t page = 2 << 20;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page, end = (reinterpret_cast<uintptr_t>(data) + nbytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
}

// malloc's pieces are aligned to 16 bytes, so that 16 to 64 bytes of one lie before the block. The last of them say
// where the piece begins, and AddressSanitizer lets no one else reach them.
void *aligned(size_t nbytes, int64_t &size) {
  void *begin = nbytes <= SIZE_MAX - kAlignment ? malloc(nbytes + kAlignment) : nullptr;
  if (!begin) return nullptr;
  char *data = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(begin) / kAlignment + 1) * kAlignment);
  reinterpret_cast<void **>(data)[-1] = begin;
  size = static_cast<int64_t>(malloc_usable_size(begin));
  ASAN_POISON_MEMORY_REGION(begin, data - static_cast<char *>(begin));
  return data;
}

void release(void *data) {
  if (!data) return;
  ASAN_UNPOISON_MEMORY_REGION(static_cast<char *>(data) - kAlignment / 4, kAlignment / 4);
  void *begin = static_cast<void **>(data)[-1];
  ASAN_UNPOISON_MEMORY_REGION(begin, static_cast<char *>(data) - static_cast<char *>(begin));
  live_bytes -= static_cast<int64_t>(malloc_usable_size(begin));
  free(begin);
}

struct CountingAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t nbytes) override {
    void *data = nullptr;
    if (nbytes > 0) {
      const bool fits = nbytes <= most_bytes && static_cast<int64_t>(nbytes) <= limit_bytes - live_bytes;
      int64_t size = 0;
      if (fits) data = aligned(nbytes, size);
      TORCH_CHECK_WITH(OutOfMemoryError, data != nullptr, "out of memory: ", nbytes, " bytes were asked for while tensors held ", live_bytes.load());
      ask_for_huge_pages(data, nbytes);
      const int64_t live = live_bytes += size;
      int64_t peak = peak_bytes.load();
      while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
      }
    }
    return {data, data, &release, at::Device(at::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void *to, const void *from, std::size_t count) const override { default_copy_data(to, from, count); }
};

CountingAllocator allocator;

struct Install {
  Install() {
    mallopt(M_ARENA_MAX, 1);
    if (!mallopt(M_MMAP_THRESHOLD, 1 << 30)) mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the limit before glibc 2.35
    mallopt(M_TRIM_THRESHOLD, 2147483647);
    mallopt(M_TOP_PAD, 128 << 10);  // glibc's default, which devices/first.cc changed
    setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128", 0);
    setenv("LRU_CACHE_CAPACITY", "128", 0);
    c10::SetCPUAllocator(&allocator, 255);
  }
} install;

}  // namespace

extern "C" {
int64_t ap_live_bytes(void) { return live_bytes; }
int64_t ap_peak_bytes(void) { return peak_bytes; }
void ap_reset_peak_bytes(void) { peak_bytes = live_bytes.load(); }
void ap_limit_bytes(int64_t most) { limit_bytes = most; }
}
