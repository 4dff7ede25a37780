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
std::map<const char *, Block *> blocks;         // by address
std::map<std::string, int64_t> operators, waits, uploads;  // by name
int64_t live_bytes, peak_bytes;
std::string running = "the start";

void protect(const Block &block, int how) {
  TORCH_CHECK(mprotect(block.data, block.size, how) == 0, "mprotect of ", block.size, " bytes: ", strerror(errno));
}

void release(void *context) {
  auto *block = static_cast<Block *>(context);
  const std::lock_guard<std::mutex> lock(mutex);
  blocks.erase(static_cast<char *>(block->data));
  live_bytes -= static_cast<int64_t>(block->size);
  munmap(block->data, block->size);
  delete block;
}

struct Memory final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t nbytes) override {
    const c10::Device device(kDevice, 0);
    if (nbytes == 0) return {nullptr, device};
    static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t size = (nbytes + page - 1) / page * page;
    void *data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const std::lock_guard<std::mutex> lock(mutex);
    TORCH_CHECK_WITH(OutOfMemoryError, data != MAP_FAILED, "out of memory: ", nbytes, " bytes were asked for while tensors held ", live_bytes);
    // What is read before it was written is no number, and no index either.
    memset(data, 0xff, size);
    auto *block = new Block{data, size, running};
    protect(*block, PROT_NONE);
    blocks[static_cast<char *>(data)] = block;
    live_bytes += static_cast<int64_t>(size);
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
  if (mutex.try_lock()) {
    auto next = blocks.upper_bound(address);
    if (next != blocks.begin() && address < std::prev(next)->first + std::prev(next)->second->size) {
      const Block &block = *std::prev(next)->second;
      fprintf(stderr, "checked device: the host touched the device's memory (%zu bytes, made for %s) after %s; the calls, innermost first:\n",
              block.size, block.made.c_str(), running.c_str());
      void *calls[64];
      backtrace_symbols_fd(calls, backtrace(calls, 64), STDERR_FILENO);
      _exit(3);
    }
    mutex.unlock();
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

Opened::~Opened() {
  for (const Block *block : blocks_) protect(*block, PROT_NONE);
}

void Opened::add(const c10::Storage &storage) {
  auto *block = static_cast<Block *>(storage.data_ptr().get_context());
  if (!block || std::find(blocks_.begin(), blocks_.end(), block) != blocks_.end()) return;
  protect(*block, PROT_READ | PROT_WRITE);
  blocks_.push_back(block);
}

c10::DataPtr grow(c10::StorageImpl *storage, size_t nbytes) {
  if (nbytes <= storage->nbytes()) return {};
  c10::DataPtr larger = memory.allocate(nbytes);
  if (const auto *from = static_cast<Block *>(storage->data_ptr().get_context())) {
    const auto *to = static_cast<Block *>(larger.get_context());
    protect(*from, PROT_READ), protect(*to, PROT_READ | PROT_WRITE);
    memcpy(to->data, from->data, from->size);
    protect(*to, PROT_NONE);
  }
  storage->set_nbytes(nbytes);
  return storage->set_data_ptr(std::move(larger));
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
