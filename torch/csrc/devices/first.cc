// What comes before the constructors of libgomp and libtorch. They run before those of libraries that need them, so
// that this file is a library of its own, libaperture_first.so, that needs neither and stands behind libgomp among what
// libaperture.so needs: the system's loader runs constructors from the last library to the first, each after what it
// needs.
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

// How long an OpenMP thread spins while it waits for its next piece of work, before it sleeps: some tens of
// microseconds, which bridges the gaps inside a step. libgomp's own default is some milliseconds, and ruinous on a
// machine that others use too: a thread that lost its processor is then waited for by threads that burn theirs. libgomp
// reads the setting in its constructor; torch/first_test.go holds that it sees ours. A user's own GOMP_SPINCOUNT or
// OMP_WAIT_POLICY stays as it is.
__attribute__((constructor)) static void sleep_soon() {
  if (!getenv("OMP_WAIT_POLICY")) setenv("GOMP_SPINCOUNT", "2000", 0);
}

// libtorch registers its operators in 53 MB of small blocks. In a heap that grows once, by huge pages where the kernel
// has them, that causes 2,600 page faults in place of 16,000, a fifth of the time from the start of a process to its
// main.
__attribute__((constructor)) static void widen_heap() {
  constexpr uintptr_t page = 2 << 20;
  constexpr int size = 96 << 20;
  mallopt(M_TOP_PAD, size);  // border/allocator.cc takes it back
  const auto before = reinterpret_cast<uintptr_t>(sbrk(0));
  void *volatile blocks[4];
  for (auto &block : blocks) block = malloc(100 << 10);  // more than a heap begins with, less than gets a mapping of its own
  for (auto &block : blocks) free(block);
  const auto begin = (before + page - 1) / page * page, end = reinterpret_cast<uintptr_t>(sbrk(0)) / page * page;
  if (begin < end && end - begin <= size) madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
}
