// NCCL's process group, c10d::ProcessGroupNCCL, reached without its header and without linking: libtorch_cuda exports its
// constructor and that of its options, and all that is called of both afterwards are virtual functions of c10d::Backend, which
// libtorch_cpu knows. The header would want those of NCCL and CUDA, which a machine that builds this has no use for.
//
// How large the two objects are only libtorch_cuda knows, whose version is that of the headers here: they get more memory than
// they need, from the operator new whose operator delete their destructors call.
#include <dlfcn.h>

#include <cstring>

#include "border/common.h"
#include "process_group.h"

namespace ap {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;
using OptionsPointer = c10::intrusive_ptr<c10d::Backend::Options>;

// What the two constructors are called as: an argument with a destructor comes by its address, whatever it points to.
using MakeOptions = void (*)(void *self, bool high_priority);
using MakeGroup = void (*)(void *self, StorePointer store, int rank, int size, OptionsPointer options);
constexpr char kOptions[] = "_ZN4c10d16ProcessGroupNCCL7OptionsC1Eb";
constexpr char kGroup[] =
    "_ZN4c10d16ProcessGroupNCCLC1EN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_EEEEiiNS2_INS0_7OptionsENS5_IS8_EEEE";

constexpr size_t kRoom = 1 << 14;  // bytes for either; the group of 2.11.0 takes 1,112

// Makes an object of type T, or of one that begins with a T, in new memory.
template <class T, class Construct>
c10::intrusive_ptr<T> construct(Construct f) {
  void *memory = ::operator new(kRoom);
  std::memset(memory, 0, kRoom);
  try {
    f(memory);
  } catch (...) {
    ::operator delete(memory);
    throw;
  }
  return c10::intrusive_ptr<T>::unsafe_steal_from_new(static_cast<T *>(memory));
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> nccl(const StorePointer &store, int rank, int size, std::chrono::milliseconds timeout) {
  const auto make_options = reinterpret_cast<MakeOptions>(dlsym(RTLD_DEFAULT, kOptions));
  const auto make_group = reinterpret_cast<MakeGroup>(dlsym(RTLD_DEFAULT, kGroup));
  if (!make_options || !make_group) return {};
  const auto options = construct<c10d::Backend::Options>([&](void *self) { make_options(self, false); });
  TORCH_CHECK(options->backend == "nccl", "libtorch_cuda is another version than libtorch_cpu: install both from one build");
  options->timeout = timeout;
  return construct<c10d::Backend>([&](void *self) { make_group(self, store, rank, size, options); });
}

}  // namespace ap
