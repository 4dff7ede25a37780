// Process groups: c10d's TCPStore and ProcessGroupGloo, which libtorch_cpu exports.
#include "process_group.h"

#include <c10/util/Logging.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "api_process_group.h"
#include "border/common.h"
#include "cuda/nccl.h"

using namespace ap;

namespace {

using Milliseconds = std::chrono::milliseconds;

struct Store {
  c10::intrusive_ptr<c10d::TCPStore> tcp;
  c10::intrusive_ptr<c10d::PrefixStore> prefixed;
};

c10d::PrefixStore &keys(ap_store s) { return *static_cast<Store *>(s)->prefixed; }

char *text_of(const std::string &s) { return strndup(s.data(), s.size()); }

// A tensor in a collective: where it lies, if that can be, or else copied to the CPU.
struct Exchanged {
  at::Tensor whole;
  c10d::Backend *by;
  std::vector<at::Tensor> tensors;
  Exchanged(const Group &g, const at::Tensor &x) : whole(x.detach()), by(g.gloo.get()) {
    if (x.is_cuda() && g.nccl) by = g.nccl.get();
    tensors.push_back(by == g.gloo.get() ? whole.to(at::kCPU) : whole);
  }
  void give_back() {
    if (!tensors[0].is_same(whole)) whole.copy_(tensors[0]);
  }
};

}  // namespace

namespace ap {

void finish(const c10::intrusive_ptr<c10d::Work> &work) {
  work->wait();  // rethrows what went wrong
}

}  // namespace ap

extern "C" {

ap_error ap_store_open(const char *host, int port, int listener, const char *prefix, int64_t timeout_ms, ap_store *out) {
  return guard([&] {
    // c10d writes to the terminal of hosts without a name, and stacks of what it throws as well.
    static const bool quiet = !std::getenv("TORCH_CPP_LOG_LEVEL") && (FLAGS_caffe2_log_level = c10::GLOG_FATAL);  // once, for all threads
    (void)quiet;
    c10d::TCPStoreOptions o;
    o.port = static_cast<std::uint16_t>(port);
    o.isServer = listener >= 0;
    if (o.isServer) o.masterListenFd = listener;  // one that c10d opens listens at every address of the machine
    o.waitWorkers = false;
    o.timeout = Milliseconds(timeout_ms);
    auto tcp = c10::make_intrusive<c10d::TCPStore>(host, o);
    *out = new Store{tcp, c10::make_intrusive<c10d::PrefixStore>(prefix, tcp)};
  });
}

ap_error ap_store_set(ap_store s, const char *key, const char *value) {
  return guard([&] { keys(s).set(key, std::vector<uint8_t>(value, value + std::strlen(value))); });
}

ap_error ap_store_first(ap_store s, const char *key, const char *value, char **now) {
  return guard([&] { *now = text_of(static_cast<c10d::Store &>(keys(s)).compareSet(key, std::string(), std::string(value))); });
}

ap_error ap_store_get(ap_store s, const char *key, char **value) {
  return guard([&] { *value = keys(s).check({key}) ? text_of(keys(s).get_to_str(key)) : nullptr; });
}

ap_error ap_store_add(ap_store s, const char *key, int64_t n, int64_t *now) {
  return guard([&] { *now = keys(s).add(key, n); });
}

void ap_store_close(ap_store s) {
  try {
    delete static_cast<Store *>(s);
  } catch (...) {  // the server is gone, which closes it as well
  }
}

ap_error ap_group_join(ap_store s, int rank, int size, const char *address, int64_t timeout_ms, ap_group *out) {
  return guard([&] {
    auto o = c10d::ProcessGroupGloo::Options::create(Milliseconds(timeout_ms));
    o->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
    const auto &store = static_cast<Store *>(s)->prefixed;
    *out = new Group{c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, o), rank, size, store, Milliseconds(timeout_ms), {}};
  });
}

ap_error ap_group_use_nccl(ap_group g, const char *path) {
  return guard([&] {
    auto &all = group(g);
    if (all.nccl) return;
    void *library = dlopen(path, RTLD_NOW);
    TORCH_CHECK(library, dlerror());
    const auto join = reinterpret_cast<decltype(&ap_nccl_join)>(dlsym(library, "ap_nccl_join"));
    TORCH_CHECK(join, dlerror());
    join(c10::make_intrusive<c10d::PrefixStore>("nccl", all.store), all.rank, all.size, all.timeout, &all.nccl);
  });
}

ap_error ap_group_reduce(ap_group g, ap_tensor x, bool largest) {
  return guard([&] {
    Exchanged list(group(g), get(x));
    c10d::AllreduceOptions o;
    o.reduceOp = largest ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
    finish(list.by->allreduce(list.tensors, o));
    list.give_back();
  });
}

ap_error ap_group_broadcast(ap_group g, ap_tensor x, int root) {
  return guard([&] {
    Exchanged list(group(g), get(x));
    c10d::BroadcastOptions o;
    o.rootRank = root;
    finish(list.by->broadcast(list.tensors, o));
    list.give_back();
  });
}

ap_error ap_group_barrier(ap_group g) {
  return guard([&] { finish(group(g).gloo->barrier()); });
}

ap_error ap_group_gather(ap_group g, const void *data, int64_t n, void **all, int64_t *sizes) {
  return guard([&] {
    // Sizes first, then of each the number of bytes that the longest has.
    auto gather = [&](at::Tensor mine) {
      std::vector<std::vector<at::Tensor>> parts(1);
      for (int r = 0; r < group(g).size; ++r) parts[0].push_back(at::empty_like(mine));
      std::vector<at::Tensor> list{mine};
      finish(group(g).gloo->allgather(parts, list));
      return parts[0];
    };
    int64_t longest = 0, sum = 0;
    const auto lengths = gather(at::full({1}, n, at::kLong));
    for (int r = 0; r < group(g).size; ++r) {
      sizes[r] = lengths[r].item<int64_t>();
      longest = std::max(longest, sizes[r]);
      sum += sizes[r];
    }
    char *joined = static_cast<char *>(std::malloc(std::max<int64_t>(sum, 1)));
    if (!joined) throw std::bad_alloc();
    *all = joined;
    if (longest == 0) return;
    at::Tensor mine = at::zeros({longest}, at::kByte);
    if (n > 0) std::memcpy(mine.data_ptr(), data, n);
    try {
      const auto parts = gather(mine);
      for (int r = 0; r < group(g).size; ++r) {
        std::memcpy(joined, parts[r].data_ptr(), sizes[r]);
        joined += sizes[r];
      }
    } catch (...) {
      std::free(*all);
      throw;
    }
  });
}

void ap_group_leave(ap_group g) {
  try {
    if (group(g).nccl) group(g).nccl->shutdown();
    delete &group(g);
  } catch (...) {  // others may have left already
  }
}

}  // extern "C"
