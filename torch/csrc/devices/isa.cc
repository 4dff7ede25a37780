// The choice of the instruction set, for our kernels and for the libraries.
#include "isa.h"

#include <ATen/Version.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "api_isa.h"

namespace ap {
namespace {

KernelEntry *kernels;  // the last one that was entered; null before any constructor runs

// x86-64-v3 and v4, whose names g++ knows here since version 12.
bool has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("movbe");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool wanted(const char *name) {
  const char *set = getenv("APERTURE_ISA");
  return set && std::strcmp(set, name) == 0;
}

// What other libraries read when they choose their kernels, each at its first
// call and none while it is loaded. This library is loaded after them, and before
// the program makes a tensor.
constexpr const char *kLibraries[][2] = {{"ATEN_CPU_CAPABILITY", "avx2"}, {"MKL_ENABLE_INSTRUCTIONS", "AVX2"}, {"ONEDNN_MAX_CPU_ISA", "AVX2"},
                                         {"FBGEMM_ENABLE_INSTRUCTIONS", "AVX2"}};

__attribute__((constructor)) void tell_libraries() {
  for (const auto &[name, value] : kLibraries) {
    if (wanted("avx2")) setenv(name, value, 1);
    if (wanted("avx512")) unsetenv(name);  // they take AVX-512 by themselves
  }
}

}  // namespace

KernelEntry::KernelEntry(const char *name) : name(name), next(kernels) { kernels = this; }

ISA isa() {
  static const ISA set = has_avx512() && !wanted("avx2") ? ISA::avx512 : ISA::avx2;
  return set;
}

}  // namespace ap

using namespace ap;

extern "C" {

const char *ap_isa(void) { return isa() == ISA::avx512 ? "avx512" : "avx2"; }
bool ap_has_avx2(void) { return has_avx2(); }
bool ap_has_avx512(void) { return has_avx512(); }
bool ap_has_bfloat16(void) { return isa() == ISA::avx512 && __builtin_cpu_supports("avx512bf16"); }

int ap_kernels(const char **names, bool *called, int room) {
  int count = 0;
  for (const KernelEntry *k = kernels; k; k = k->next, ++count) {
    if (count >= room) continue;
    names[count] = k->name;
    called[count] = k->called;
  }
  return count;
}

const char *ap_libtorch_isa(void) {
  static const std::string set = at::get_cpu_capability();
  return set.c_str();
}

}  // extern "C"
