// Tells MKL, which is linked into libtorch_cpu, how to choose its matrix kernels: by
// the instructions that a processor has instead of by its maker, and so that a
// product's bits do not depend on the number of threads.
//
// MKL asks mkl_serv_intel_cpu_true before it considers AVX-512 and falls back to
// kernels for AVX2 or less elsewhere, two to three times slower on processors of
// other makers that do have AVX-512. It then asks the processor what it can do,
// so the answer here only opens that question. The function is an exported one
// that is called through the dynamic symbol table, where this library stands
// before libtorch_cpu.
//
// In its strict mode, which its kernels for AVX2 and AVX-512 know, a product of
// matrices is cut in the same way for every number of threads. It reads that
// variable at its first product. A user's own MKL_CBWR is left as it is.
//
// APERTURE_MKL_BY_MAKER=1 in the environment leaves the choice as it was: then a
// processor of another maker has no strict mode.
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int mkl_serv_intel_cpu_true(void) {
  static const bool by_maker = [] {
    const char *set = getenv("APERTURE_MKL_BY_MAKER");
    return set && *set && *set != '0';
  }();
  if (!by_maker) return 1;
  __builtin_cpu_init();
  return __builtin_cpu_is("intel");
}

__attribute__((constructor)) static void be_strict() {
  if (mkl_serv_intel_cpu_true()) setenv("MKL_CBWR", "AUTO,STRICT", 0);
}
