// Gradients summed over processes in buckets, as c10d's Reducer does it (Li et al. 2020, "PyTorch Distributed", section
// 3.2): a bucket's sum is under way while the backward pass still makes the gradients of the next. The Reducer itself
// is not taken, since it divides by the number of processes, and makes a gradient of zeros where no process has one,
// which an optimizer would take for a gradient.
//
// A bucket holds its parameters' gradients one after the other and then, for each of them, 1 where this process has
// one. On a GPU, where reading those would wait for it, they are on the CPU instead, in a sum of their own over Gloo. A
// parameter's gradient becomes a part of the bucket when the bucket is sent off, so that the sum needs no copy.
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <chrono>
#include <mutex>

#include "border/common.h"
#include "process_group.h"

using namespace ap;

namespace {

using Clock = std::chrono::steady_clock;

int64_t nanoseconds(Clock::duration d) { return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count(); }

// For how long any bucket has been under way. Works that outlive their buckets still hold it.
struct Flight {
  std::mutex mutex;
  int flying = 0;
  Clock::time_point since;
  int64_t busy_ns = 0;
  void begin() {
    std::lock_guard<std::mutex> lock(mutex);
    if (flying++ == 0) since = Clock::now();
  }
  void end() {
    std::lock_guard<std::mutex> lock(mutex);
    if (--flying == 0) busy_ns += nanoseconds(Clock::now() - since);
  }
};

struct Bucket {
  std::vector<at::Tensor> params;
  at::Tensor flat;   // gradients and flags
  at::Tensor flags;  // a part of flat, or by themselves on the CPU
  int64_t weights = 0;
  int waiting = 0;  // parameters whose gradient is not complete
  c10::intrusive_ptr<c10d::Work> work;
};

struct Buckets {
  c10::intrusive_ptr<c10d::Backend> gloo, by;  // by is what gradients are summed by
  bool on_gpu() const { return by != gloo; }
  std::vector<Bucket> list;
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, uintptr_t>> hooks;  // holds the nodes, which variables do not
  bool armed = false;
  size_t next = 0;  // the first bucket that is not under way: all processes start them in the same order
  int64_t bytes = 0, waited_ns = 0;
  std::shared_ptr<Flight> flight = std::make_shared<Flight>();

  static at::Tensor part(const Bucket &b, const at::Tensor &p, int64_t at) { return b.flat.narrow(0, at, p.numel()).view(p.sizes()); }

  // start sends a bucket off.
  void start(Bucket &b) {
    c10::NoGradGuard no_grad;
    int64_t at = 0, flag = 0;
    for (auto &p : b.params) {
      at::Tensor place = part(b, p, at);
      at += p.numel();
      b.flags.narrow(0, flag++, 1).fill_(p.grad().defined() ? 1 : 0);
      if (!p.grad().defined()) {
        place.zero_();
        continue;
      }
      place.copy_(p.grad());
      if (place.device() == p.device()) p.mutable_grad() = place;
    }
    std::vector<at::Tensor> tensors{b.flat};
    flight->begin();
    b.work = by->allreduce(tensors);
    b.work->getFuture()->addCallback([flight = flight](c10::ivalue::Future &) { flight->end(); });
    bytes += static_cast<int64_t>(b.flat.nbytes());
  }

  void start_complete() {
    while (next < list.size() && list[next].waiting == 0) start(list[next++]);
  }
};

struct Arrived : torch::autograd::FunctionPostHook {
  Buckets *buckets;
  size_t bucket;
  Arrived(Buckets *buckets, size_t bucket) : buckets(buckets), bucket(bucket) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list &outputs, const torch::autograd::variable_list &) override {
    if (buckets->armed) {
      --buckets->list[bucket].waiting;
      buckets->start_complete();
    }
    return outputs;
  }
};

Buckets &of(ap_buckets b) { return *static_cast<Buckets *>(b); }

}  // namespace

extern "C" {

ap_error ap_buckets_new(ap_group g, ap_tensor *params, int n, int64_t bytes, ap_buckets *out) {
  return guard([&] {
    auto b = std::make_unique<Buckets>();
    b->gloo = b->by = group(g).gloo;
    if (n > 0 && get(params[0]).is_cuda() && group(g).nccl) b->by = group(g).nccl;
    // The last parameters have their gradients first.
    for (int i = n - 1; i >= 0; --i) {
      const at::Tensor &p = get(params[i]);
      if (b->list.empty() || (b->list.back().weights + p.numel()) * p.element_size() > bytes || b->list.back().params[0].dtype() != p.dtype())
        b->list.emplace_back();
      b->list.back().params.push_back(p);
      b->list.back().weights += p.numel();
      auto node = torch::autograd::impl::grad_accumulator(p);
      const auto key = node->add_post_hook(std::make_unique<Arrived>(b.get(), b->list.size() - 1));
      b->hooks.emplace_back(std::move(node), key);
    }
    for (auto &bucket : b->list) {
      const int64_t flags = static_cast<int64_t>(bucket.params.size());
      const auto options = bucket.params[0].options().requires_grad(false);
      if (b->on_gpu()) {
        bucket.flat = at::empty({bucket.weights}, options);
        bucket.flags = at::empty({flags}, at::kFloat);
      } else {
        bucket.flat = at::empty({bucket.weights + flags}, options.device(at::kCPU));
        bucket.flags = bucket.flat.narrow(0, bucket.weights, flags);
      }
    }
    *out = b.release();
  });
}

void ap_buckets_arm(ap_buckets b) {
  of(b).armed = true;
  of(b).next = 0;
  for (auto &bucket : of(b).list) bucket.waiting = static_cast<int>(bucket.params.size());
}

ap_error ap_buckets_finish(ap_buckets b) {
  return guard([&] {
    c10::NoGradGuard no_grad;
    auto &all = of(b);
    if (!all.armed) ap_buckets_arm(b);
    all.armed = false;
    while (all.next < all.list.size()) all.start(all.list[all.next++]);
    for (auto &bucket : all.list) {
      const auto begin = Clock::now();
      if (all.on_gpu()) {
        std::vector<at::Tensor> flags{bucket.flags};
        finish(all.gloo->allreduce(flags));
      }
      finish(bucket.work);
      all.waited_ns += nanoseconds(Clock::now() - begin);
      bucket.work.reset();
      int64_t at = 0, flag = 0;
      for (auto &p : bucket.params) {
        const at::Tensor sum = Buckets::part(bucket, p, at);
        at += p.numel();
        // Where no process has a gradient there is none; on the bucket's own device nothing is copied.
        if (bucket.flags[flag++].item<double>() != 0) p.mutable_grad() = sum.to(p.device());
      }
    }
  });
}

void ap_buckets_report(ap_buckets b, int64_t *bytes, int64_t *busy_ns, int64_t *waited_ns) {
  *bytes = of(b).bytes;
  *waited_ns = of(b).waited_ns;
  std::lock_guard<std::mutex> lock(of(b).flight->mutex);
  *busy_ns = of(b).flight->busy_ns;
}

void ap_buckets_free(ap_buckets b) {
  try {
    for (auto &[node, key] : of(b).hooks) node->del_post_hook(key);
    delete &of(b);
  } catch (...) {
  }
}

}  // extern "C"
