// Registers as C++ types. A type wider than the set's registers compiles too, but g++ 12 keeps such a value in memory,
// part by part: a kernel for both sets has the number of lanes as a parameter.
#pragma once

namespace ap {

// A register of `lanes` floats, at any address.
template <int lanes>
struct Register;

template <>
struct Register<16> {
  typedef float type __attribute__((vector_size(64), aligned(4)));
};

template <>
struct Register<8> {
  typedef float type __attribute__((vector_size(32), aligned(4)));
};

// Lanes are added in halves: the sum of 8 lanes' is that of lanes i and i + 4, then of 2 apart, then of neighbours.
__attribute__((always_inline)) inline float sum_of(const Register<8>::type &lanes) {
  Register<8>::type x = lanes;
  typedef int Places __attribute__((vector_size(32)));
  x += __builtin_shuffle(x, Places{4, 5, 6, 7, 0, 1, 2, 3});
  x += __builtin_shuffle(x, Places{2, 3, 0, 1, 6, 7, 4, 5});
  x += __builtin_shuffle(x, Places{1, 0, 3, 2, 5, 4, 7, 6});
  return x[0];
}

__attribute__((always_inline)) inline float sum_of(const Register<16>::type &lanes) {
  Register<16>::type x = lanes;
  typedef int Places __attribute__((vector_size(64)));
  x += __builtin_shuffle(x, Places{8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7});
  x += __builtin_shuffle(x, Places{4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11});
  x += __builtin_shuffle(x, Places{2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13});
  x += __builtin_shuffle(x, Places{1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14});
  return x[0];
}

}  // namespace ap
