// How long matrix products take, so that what a step spends on the rest is known.
//
// libtorch calls an observer round each operator (at::RecordFunction, what its
// profiler is made of): those that are one matrix product are timed. It is there
// only while products are counted; at other times nothing is observed. A product
// inside another, or inside a ProductTimer, is part of it.
//
// On the torch thread the time is the clock's, however many threads a product
// uses. Where threads share out work that has products in it, each counts its own
// and the mean of all threads stands for the clock.
#include "products.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>

#include "api_products.h"
#include "border/common.h"

namespace ap {
namespace {

constexpr std::array kProducts = {"aten::mm",      "aten::addmm", "aten::addmm_", "aten::bmm",   "aten::baddbmm", "aten::baddbmm_",
                                  "aten::addbmm",  "aten::mv",    "aten::addmv",  "aten::addmv_", "aten::dot",     "mkldnn::_linear_pointwise"};

std::atomic<bool> counting{false};
std::atomic<int64_t> spent{0};  // nanoseconds
int64_t threads = 1;            // when counting began
thread_local int depth = 0;     // of products inside products

struct Observed : at::ObserverContext {
  ProductTimer timer;
};

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction &f) {
  if (std::none_of(kProducts.begin(), kProducts.end(), [&](const char *name) { return std::strcmp(name, f.name()) == 0; })) return nullptr;
  return std::make_unique<Observed>();
}

std::optional<at::CallbackHandle> observer;

}  // namespace

ProductTimer::ProductTimer() : outermost_(false) {
  if (!counting.load(std::memory_order_relaxed)) return;
  outermost_ = depth++ == 0;
  begin_ = std::chrono::steady_clock::now();
}

ProductTimer::~ProductTimer() {
  if (begin_ == std::chrono::steady_clock::time_point()) return;
  --depth;
  if (!outermost_) return;
  const int64_t time = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin_).count();
  spent += at::in_parallel_region() ? time / threads : time;
}

}  // namespace ap

using namespace ap;

extern "C" ap_error ap_products_begin(void) {
  return guard([] {
    TORCH_CHECK(!counting, "products are being counted already");
    threads = at::get_num_threads();
    spent = 0;
    observer = at::addGlobalCallback(at::RecordFunctionCallback(enter, [](const at::RecordFunction &, at::ObserverContext *) {}).scopes({at::RecordScope::FUNCTION}));
    counting = true;
  });
}

extern "C" ap_error ap_products_end(double *seconds) {
  return guard([&] {
    counting = false;
    if (observer) at::removeCallback(*observer);
    observer.reset();
    *seconds = static_cast<double>(spent) * 1e-9;
  });
}
