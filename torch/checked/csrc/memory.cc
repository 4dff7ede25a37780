#include "memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace checked {

Counts counts;

namespace {

// Guards all that follows it. Kernels run one at a time, but tensors are freed from any thread.
std::mutex mutex;
std::map<const char *, Block *> blocks;                     // by address
std::map<std::string, int64_t> operators, waits, uploads;  // by name
int64_t live_bytes, peak_bytes;
std::string running = "the start";

// Tensors have addresses in the first half of a range, which nothing may touch, and lie in its second, where kernels
// see them. The range is of addresses alone: memory is there once it is written.
constexpr size_t kHalf = size_t{1} << 38;

char *hidden() {
  static char *const start = [] {
    void *range = mmap(nullptr, 2 * kHalf, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TORCH_CHECK(range != MAP_FAILED, "the checked device has no range of addresses: ", strerror(errno));
    char *first = static_cast<char *>(range);
    TORCH_CHECK(mprotect(first + kHalf, kHalf, PROT_READ | PROT_WRITE) == 0, "the checked device has no memory: ", strerror(errno));
    return first;
  }();
  return start;
}

// Sizes come in steps of an eighth, so that freed memory serves the next tensor that is nearly as large.
size_t rounded(size_t nbytes) {
  size_t step = 64;
  while (step * 16 < nbytes) step *= 2;
  return (nbytes + step - 1) / step * step;
}

std::map<size_t, std::vector<char *>> unused;  // by size
size_t used;                                   // bytes of the range that have been given out

// Blocks of that size and more give their pages back.
constexpr size_t kLarge = size_t{1} << 22;

void release(void *context) {
  const auto *block = static_cast<Block *>(context);
  const size_t size = rounded(block->nbytes);
  const std::lock_guard<std::mutex> lock(mutex);
  blocks.erase(block->data);
  live_bytes -= static_cast<int64_t>(block->nbytes);
  if (size >= kLarge) madvise(kernel_address(block->data), size, MADV_DONTNEED);
  unused[size].push_back(block->data);
  delete block;
}

struct Memory final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t nbytes) override {
    const c10::Device device(kDevice, 0);
    if (nbytes == 0) return {nullptr, device};
    const std::lock_guard<std::mutex> lock(mutex);
    const size_t size = nbytes < kHalf ? rounded(nbytes) : nbytes;
    std::vector<char *> &same = unused[size];
    if (same.empty()) {
      TORCH_CHECK_WITH(OutOfMemoryError, size <= kHalf - used, "out of memory: ", nbytes, " bytes were asked for while tensors held ", live_bytes);
      same.push_back(hidden() + used);
      used += size;
    }
    char *data = same.back();
    same.pop_back();
    // What is read before it was written is no number, and no index either.
    memset(kernel_address(data), 0xff, size);
    auto *block = new Block{data, nbytes, running};
    blocks[data] = block;
    live_bytes += static_cast<int64_t>(nbytes);
    peak_bytes = std::max(peak_bytes, live_bytes);
    return {data, block, &release, device};
  }

  void copy_data(void *, const void *, std::size_t) const override { TORCH_CHECK(false, "the checked device copies by aten::copy_ alone"); }

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr &, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    const std::lock_guard<std::mutex> lock(mutex);
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[0].current = live_bytes;
    stats.allocated_bytes[0].peak = peak_bytes;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {
    const std::lock_guard<std::mutex> lock(mutex);
    peak_bytes = live_bytes;
  }
};

Memory memory;

// Where the fault lies in the device's memory this ends the process and says who touched what; other faults go to
// the handler before, which is Go's.
struct sigaction before;

void on_fault(int number, siginfo_t *info, void *context) {
  const auto *address = static_cast<const char *>(info->si_addr);
  if (address >= hidden() && address < hidden() + kHalf && mutex.try_lock()) {
    const auto next = blocks.upper_bound(address);
    const Block *block = next == blocks.begin() ? nullptr : std::prev(next)->second;
    if (block && address < block->data + block->nbytes)
      fprintf(stderr, "checked device: the host touched the device's memory (%zu bytes, made for %s) after %s; the calls, innermost first:\n", block->nbytes,
              block->made.c_str(), running.c_str());
    else
      fprintf(stderr, "checked device: the host touched memory of the device that no tensor has, after %s; the calls, innermost first:\n", running.c_str());
    void *calls[64];
    backtrace_symbols_fd(calls, backtrace(calls, 64), STDERR_FILENO);
    _exit(3);
  }
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(number, info, context);
  else
    signal(number, SIG_DFL);
}

struct Install {
  Install() {
    void *call;
    backtrace(&call, 1);  // loads what it needs now, not within the handler
    sigaction(SIGSEGV, nullptr, &before);
    struct sigaction ours = before;
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &ours, nullptr);
  }
} install;

REGISTER_ALLOCATOR(kDevice, &memory);

}  // namespace

c10::Allocator *allocator() { return &memory; }

void *kernel_address(const void *data) {
  return data ? const_cast<char *>(static_cast<const char *>(data)) + kHalf : nullptr;
}

void grow(c10::StorageImpl *storage, size_t nbytes) {
  if (nbytes <= storage->nbytes()) return;
  c10::DataPtr larger = memory.allocate(nbytes);
  if (storage->nbytes() > 0) memcpy(kernel_address(larger.get()), kernel_address(storage->data()), storage->nbytes());
  storage->set_nbytes(nbytes);
  storage->set_data_ptr_noswap(std::move(larger));
}

void now_running(const std::string &name) {
  const std::lock_guard<std::mutex> lock(mutex);
  running = name;
}

void count(int64_t Counts::*kind, const char *name) {
  const std::lock_guard<std::mutex> lock(mutex);
  ++(counts.*kind);
  ++(kind == &Counts::operators ? operators : kind == &Counts::waits ? waits : uploads)[name];
}

}  // namespace checked

using namespace checked;

extern "C" {

__attribute__((visibility("default"))) void checked_reset(void) {
  const std::lock_guard<std::mutex> lock(mutex);
  counts = {};
  operators.clear(), waits.clear(), uploads.clear();
}

__attribute__((visibility("default"))) void checked_counts(int64_t *three) {
  const std::lock_guard<std::mutex> lock(mutex);
  three[0] = counts.operators, three[1] = counts.uploads, three[2] = counts.waits;
}

// The names with their counts, a line each, the most frequent first; the caller frees the text.
__attribute__((visibility("default"))) char *checked_names(void) {
  const std::lock_guard<std::mutex> lock(mutex);
  std::string text;
  const auto list = [&](const char *title, const std::map<std::string, int64_t> &names) {
    std::vector<std::pair<int64_t, std::string>> order;
    for (const auto &[name, n] : names) order.emplace_back(-n, name);
    std::sort(order.begin(), order.end());
    for (const auto &[n, name] : order) text += std::string(title) + " " + std::to_string(-n) + " " + name + "\n";
  };
  list("wait", waits), list("upload", uploads), list("operator", operators);
  return strdup(text.c_str());
}

// For a test of the checking: reads a byte of the device's memory from the host.
__attribute__((visibility("default"))) int checked_touch(void) {
  return blocks.empty() ? -1 : *static_cast<const volatile char *>(blocks.begin()->second->data);
}

}  // extern "C"
