// Which instructions our kernels use, and how a kernel comes to have code for each.
//
// There are two sets: AVX2 with FMA (x86-64-v3), which every processor must have,
// and AVX-512 (x86-64-v4). A process uses one of them: the better one that the
// processor has, or the one that APERTURE_ISA names, with which libtorch's own
// kernels, MKL's and oneDNN's keep to the same. Everything of ours that depends
// on the set is a Kernel.
#pragma once

#include <atomic>

namespace ap {

enum class ISA { avx2, avx512 };

// The set in use.
ISA isa();

#define AP_AVX2 __attribute__((target("arch=x86-64-v3")))
#define AP_AVX512 __attribute__((target("arch=x86-64-v4")))

// An entry of the list of all kernels, which is made while the library is loaded.
struct KernelEntry {
  explicit KernelEntry(const char *name);
  const char *name;                  // file/kernel
  std::atomic<bool> called{false};   // at least once, with the set in use
  KernelEntry *next;
};

// Calls Code::avx2 or Code::avx512. The first call finds out which, those after
// it cost what a call through a pointer costs, so a kernel should be a row or more.
template <class Code, class Signature = decltype(Code::avx2)>
class Kernel;

template <class Code, class R, class... A>
class Kernel<Code, R(A...)> {
 public:
  R operator()(A... a) const { return code_.load(std::memory_order_relaxed)(a...); }

 private:
  static R first(A... a) {
    entry_.called = true;
    R (*code)(A...) = isa() == ISA::avx512 ? Code::avx512 : Code::avx2;
    code_.store(code, std::memory_order_relaxed);
    return code(a...);
  }
  static inline KernelEntry entry_{Code::name};
  static inline std::atomic<R (*)(A...)> code_{first};
};

// One body, compiled for each set.
template <class Signature, Signature body>
struct Clones;

template <class R, class... A, R (&body)(A...)>
struct Clones<R (&)(A...), body> {
  AP_AVX2 static R avx2(A... a) { return body(a...); }
  AP_AVX512 static R avx512(A... a) { return body(a...); }
};

}  // namespace ap

// AP_KERNEL(result, name, parameters...) { body } stands where a function would,
// and is called like one. What the body calls must be inline.
#define AP_KERNEL(result, kernel, ...)                                                             \
  static inline __attribute__((always_inline)) result kernel##_body(__VA_ARGS__);                  \
  struct kernel##_code : ap::Clones<decltype((kernel##_body)), kernel##_body> {                    \
    static constexpr const char *name = __FILE__ "/" #kernel;                                      \
  };                                                                                               \
  constexpr ap::Kernel<kernel##_code> kernel;                                                      \
  static inline __attribute__((always_inline)) result kernel##_body(__VA_ARGS__)
