#include "softmax_row.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "devices/bfloat16.h"
#include "devices/isa.h"

namespace ap {

int64_t chunk_rows(int64_t rows, int64_t bytes, bool on_cpu) {
  if (!on_cpu) return std::max<int64_t>((int64_t{1} << 29) / std::max<int64_t>(bytes, 1), 512);
  // Every chunk reads and writes the gradient of the weight once, so it should be large; where the
  // vocabulary is small, as large as its logits stay in the cache. Of a cache that many processors share no
  // more is counted on than one of them has, or the logits of a large vocabulary would all be kept at once.
  static const int64_t cache = std::clamp<int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 1 << 24, 1 << 25);
  // With 2,048 rows and a vocabulary of 50,000, 1,024 at a time take 0.89 of the time of 512.
  const int64_t least = rows >= 2048 ? 1024 : 512;
  return std::clamp<int64_t>(cache / 2 / std::max<int64_t>(bytes, 1), least, 8192);
}

namespace {

AP_KERNEL(Sums, exponentials_float, float *row, int64_t V, bool keep) {
  float top = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : top)
  for (int64_t j = 0; j < V; ++j) top = row[j] > top ? row[j] : top;
  double totals = 0, plains = 0;
  for (int64_t start = 0; start < V; start += kSummed) {
    const int64_t end = start + kSummed < V ? start + kSummed : V;
    float total = 0, plain = 0;
    if (keep) {
#pragma omp simd reduction(+ : total, plain)
      for (int64_t j = start; j < end; ++j) {
        plain += row[j] - top;
        row[j] = exp_nonpositive(row[j] - top);
        total += row[j];
      }
    } else {
#pragma omp simd reduction(+ : total, plain)
      for (int64_t j = start; j < end; ++j) {
        plain += row[j] - top;
        total += exp_nonpositive(row[j] - top);
      }
    }
    totals += total;
    plains += plain;
  }
  return {top, totals, plains};
}

AP_KERNEL(void, scale_and_lower_float, float *row, int64_t V, float factor, float less) {
#pragma omp simd
  for (int64_t j = 0; j < V; ++j) row[j] = row[j] * factor - less;
}

AP_KERNEL(void, widen_bits, const uint16_t *row, int64_t V, float *wide) {
#pragma omp simd
  for (int64_t j = 0; j < V; ++j) wide[j] = float_of(row[j]);
}

AP_KERNEL(void, round_bits, const float *wide, int64_t V, uint16_t *row) {
#pragma omp simd
  for (int64_t j = 0; j < V; ++j) row[j] = bfloat16_of(wide[j]);
}

AP_KERNEL(void, add_bits, const uint16_t *row, int64_t V, float *sum) {
#pragma omp simd
  for (int64_t j = 0; j < V; ++j) sum[j] += float_of(row[j]);
}

const uint16_t *bits_of(const at::BFloat16 *row) { return reinterpret_cast<const uint16_t *>(row); }

}  // namespace

void widen(const at::BFloat16 *row, int64_t V, float *wide) { widen_bits(bits_of(row), V, wide); }

void round_row(const float *wide, int64_t V, at::BFloat16 *row) { round_bits(wide, V, reinterpret_cast<uint16_t *>(row)); }

void add_row(const at::BFloat16 *row, int64_t V, float *sum) { add_bits(bits_of(row), V, sum); }

Sums exponentials(float *row, int64_t V, bool keep) { return exponentials_float(row, V, keep); }

Sums exponentials(double *row, int64_t V, bool keep) {
  double top = row[0], total = 0, plain = 0;
  for (int64_t j = 0; j < V; ++j) top = std::max(top, row[j]);
  for (int64_t j = 0; j < V; ++j) {
    const double e = std::exp(row[j] - top);
    plain += row[j] - top;
    total += e;
    if (keep) row[j] = e;
  }
  return {top, total, plain};
}

void scale_and_lower(float *row, int64_t V, float factor, float less) { scale_and_lower_float(row, V, factor, less); }

void scale_and_lower(double *row, int64_t V, double factor, double less) {
  for (int64_t j = 0; j < V; ++j) row[j] = row[j] * factor - less;
}

double without_shift(double nll, double shift) {
  if (shift == 0) return nll;
  if (nll < 30) return std::log1p(std::exp(-shift) * std::expm1(nll));
  const double odds = nll - shift;  // their logarithm
  return odds > 0 ? odds + std::log1p(std::exp(-odds)) : std::log1p(std::exp(odds));
}

}  // namespace ap
