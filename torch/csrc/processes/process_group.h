// What a process group is inside this library.
#pragma once

#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "api_process_group.h"

namespace ap {

struct Group {
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  int rank, size;
  c10::intrusive_ptr<c10d::Store> store;
  std::chrono::milliseconds timeout;
  c10::intrusive_ptr<c10d::Backend> nccl;  // for tensors on a GPU; null where they go by the CPU's memory
};

inline Group &group(ap_group g) { return *static_cast<Group *>(g); }

// finish waits for a collective and throws what went wrong.
void finish(const c10::intrusive_ptr<c10d::Work> &work);

}  // namespace ap
