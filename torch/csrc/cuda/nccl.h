// What libaperture_cuda.so gives to libaperture.so, which looks it up by its name.
#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "border/api_types.h"

// Makes process number rank of size, which have met in the store, a member of a group on NCCL. A collective that
// another process does not take part in fails after the timeout. Throws c10::Error, also where no GPU is.
AP_API void ap_nccl_join(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size, std::chrono::milliseconds timeout,
                         c10::intrusive_ptr<c10d::Backend> *out);
