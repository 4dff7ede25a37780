// The checked device as libtorch sees it: streams that do nothing, a generator, and how many of them there are.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "generator.h"
#include "memory.h"

namespace checked {
namespace {

struct Guard final : c10::impl::NoOpDeviceGuardImpl<kDevice> {
  c10::Device exchangeDevice(c10::Device) const override { return {kDevice, 0}; }
  c10::Device getDevice() const override { return {kDevice, 0}; }
  c10::Stream getStream(c10::Device) const noexcept override { return stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return stream(); }
  void record(void **, const c10::Stream &, c10::DeviceIndex, c10::EventFlag) const override {}
  void block(void *, const c10::Stream &) const override {}
  bool queryEvent(void *) const override { return true; }
  void synchronizeStream(const c10::Stream &) const override { count(&Counts::waits, "synchronize"); }
  void synchronizeDevice(c10::DeviceIndex) const override { count(&Counts::waits, "synchronize"); }

  static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, c10::Device(kDevice, 0)); }
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  const at::Generator &getDefaultGenerator(c10::DeviceIndex) const override {
    static const at::Generator generator = at::make_generator<Generator>(at::make_generator<at::CPUGeneratorImpl>());
    return generator;
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override { return at::make_generator<Generator>(at::make_generator<at::CPUGeneratorImpl>()); }
  at::Device getDeviceFromPtr(void *) const override { return {kDevice, 0}; }
  void resizePrivateUse1Bytes(const c10::Storage &storage, size_t nbytes) const override { grow(storage.unsafeGetStorageImpl(), nbytes); }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

struct Register {
  Register() {
    static Hooks hooks;
    c10::register_privateuse1_backend("checked");
    at::RegisterPrivateUse1HooksInterface(&hooks);
  }
} registered;

}  // namespace
}  // namespace checked
