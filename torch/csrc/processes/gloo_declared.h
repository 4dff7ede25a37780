// The types of gloo that the header of c10d's ProcessGroupGloo mentions. libtorch_cpu holds gloo and exports the
// process group, but its wheel brings no header of gloo. Nothing here is ever made, called or looked into by this
// library: gloo's objects are behind pointers that the process group makes and frees inside libtorch. Were that to
// change, gloo's own headers would be needed instead of these names.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace transport {
class Device;
class UnboundBuffer {
 public:
  virtual ~UnboundBuffer() = 0;
};
}  // namespace transport

namespace rendezvous {
class Store {
 public:
  virtual ~Store();
  virtual void set(const std::string &key, const std::vector<char> &data) = 0;
  virtual std::vector<char> get(const std::string &key) = 0;
  virtual void wait(const std::vector<std::string> &keys) = 0;
  virtual void wait(const std::vector<std::string> &keys, const std::chrono::milliseconds &timeout) = 0;
};
}  // namespace rendezvous

}  // namespace gloo
