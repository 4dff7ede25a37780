// Where time goes: into matrix products, or into the rest (products.cc).
#pragma once

#include <chrono>

namespace ap {

// Counts the time that it lives as a product's, while products are counted. It is
// for products made here; libtorch's own are seen without it.
class ProductTimer {
 public:
  ProductTimer();
  ~ProductTimer();
  ProductTimer(const ProductTimer &) = delete;
  ProductTimer &operator=(const ProductTimer &) = delete;

 private:
  std::chrono::steady_clock::time_point begin_;
  bool outermost_;
};

}  // namespace ap
