// A program for ThreadSanitizer, which does not go together with Go: three members of a process group, each on a thread of
// its own, take gradients that are summed in buckets while the backward pass goes on, and broadcast, gather and wait for each
// other, while a watcher beside each reads and writes the store, as package parallel does. build.sh sanitize runs it.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "border/api_autograd.h"
#include "border/api_handle.h"
#include "border/common.h"
#include "processes/api_process_group.h"

namespace {

constexpr int kMembers = 3, kUpdates = 40, kParameters = 7;
constexpr int64_t kPatience = 60000;

void must(ap_error e) {
  if (!e) return;
  std::fprintf(stderr, "threads: %s\n", e);
  std::exit(1);
}

int listener(int *port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t n = sizeof a;
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr *>(&a), n) || listen(fd, 16) || getsockname(fd, reinterpret_cast<sockaddr *>(&a), &n)) std::abort();
  *port = ntohs(a.sin_port);
  return fd;
}

void watch(int port, int rank, const std::atomic<bool> &done) {
  ap_store store;
  must(ap_store_open("127.0.0.1", port, -1, "watch", kPatience, &store));
  while (!done) {
    int64_t now;
    char *text = nullptr;
    must(ap_store_add(store, "beats", 1, &now));
    must(ap_store_get(store, "failed", &text));
    must(ap_store_set(store, ("beat/" + std::to_string(rank)).c_str(), "1"));
    ap_free_text(text);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ap_store_close(store);
}

// One member: the sums of all updates are those of the ranks, 1 + 2 + 3, for the parameters that take part.
void member(ap_store store, int rank) {
  ap_enter_thread();
  ap_group group;
  must(ap_group_join(store, rank, kMembers, "127.0.0.1", kPatience, &group));
  std::vector<ap_tensor> params(kParameters);
  for (int i = 0; i < kParameters; ++i) {
    const int64_t shape[] = {1000 * i + 1};
    must(ap_full(1, static_cast<int>(at::kFloat), shape, 1, "cpu", &params[i]));
    must(ap_parameter(params[i]));
  }
  ap_buckets buckets;
  must(ap_buckets_new(group, params.data(), kParameters, 8000, &buckets));
  for (int update = 0; update < kUpdates; ++update) {
    must(ap_zero_grad(params.data(), kParameters));
    ap_buckets_arm(buckets);
    at::Tensor loss = at::zeros({});
    for (int i = update % 2; i < kParameters; ++i) loss = loss + ap::get(params[i]).sum() * (rank + 1);  // the first one now and then
    loss.backward();
    must(ap_buckets_finish(buckets));
    int64_t bytes, busy, waited;
    ap_buckets_report(buckets, &bytes, &busy, &waited);
    for (int i = 0; i < kParameters; ++i) {
      const at::Tensor &g = ap::get(params[i]).grad();
      if (g.defined() != (i >= update % 2) || (g.defined() && !g.eq(6).all().item<bool>())) {
        std::fprintf(stderr, "threads: member %d, update %d: the gradient of parameter %d is wrong\n", rank, update, i);
        std::exit(1);
      }
    }
    must(ap_group_broadcast(group, params[0], update % kMembers));
    must(ap_group_reduce(group, params[1], true));
    void *all;
    int64_t sizes[kMembers];
    must(ap_group_gather(group, "text", rank, &all, sizes));
    std::free(all);
    must(ap_group_barrier(group));
  }
  ap_buckets_free(buckets);
  ap_free(params.data(), kParameters);
  ap_group_leave(group);
}

}  // namespace

int main() {
  int port;
  const int fd = listener(&port);
  std::atomic<bool> done{false};
  std::vector<ap_store> stores(kMembers);
  for (int r = 0; r < kMembers; ++r) must(ap_store_open("127.0.0.1", port, r == 0 ? fd : -1, "members", kPatience, &stores[r]));
  std::vector<std::thread> members, watchers;
  for (int r = 0; r < kMembers; ++r) {
    watchers.emplace_back(watch, port, r, std::cref(done));
    members.emplace_back(member, stores[r], r);
  }
  for (auto &m : members) m.join();
  done = true;
  for (auto &w : watchers) w.join();
  for (int r = kMembers - 1; r >= 0; --r) ap_store_close(stores[r]);
  std::puts("threads: done");
}
