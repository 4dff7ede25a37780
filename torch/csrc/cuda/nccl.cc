// A process group on NCCL: c10d::ProcessGroupNCCL, which sums tensors on GPUs without the CPU's memory.
//
// Its header needs those of NCCL and CUDA, and its code lies in libtorch_cuda. So this folder is a library of its own,
// libaperture_cuda.so. build.sh makes it where it has both; processes/process_group.cc opens it where a GPU is.
// All calls after the one here are virtual functions of c10d::Backend, which libtorch_cpu knows.
//
// This file was compiled and linked against libtorch_cuda 2.11.0. It has run on one GPU (docs/results/gpu.md).
#include "cuda/nccl.h"

#define USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

void ap_nccl_join(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size, std::chrono::milliseconds timeout,
                  c10::intrusive_ptr<c10d::Backend> *out) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  *out = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, std::move(options));
}
