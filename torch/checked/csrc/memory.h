// The memory of the checked device: addresses that nothing may touch. Kernels and copies of the device see it
// elsewhere.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <string>
#include <vector>

namespace checked {

constexpr auto kDevice = c10::DeviceType::PrivateUse1;

struct Block {
  char *data;
  size_t nbytes;
  std::string made;  // the operator that asked for it
};

// Where kernels see what lies at an address of the device.
void *kernel_address(const void *data);

// Gives a storage at least that many bytes and keeps what it holds.
void grow(c10::StorageImpl *storage, size_t nbytes);

c10::Allocator *allocator();

// What the device did, since the last reset.
struct Counts {
  int64_t operators;  // that compute: neither views nor empty tensors nor copies between the two sides
  int64_t uploads;    // copies from the host
  int64_t waits;      // of the host for the device: copies to the host, and operators whose result's size depends on values
};
extern Counts counts;

// Counts an operator by name, for the list that tests print.
void count(int64_t Counts::*kind, const char *name);

// The operator that is running or ran last, for messages.
void now_running(const std::string &name);

}  // namespace checked
