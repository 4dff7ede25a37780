// Attention in bfloat16 with sums in float32, without a matrix of all scores: blocks of keys meet blocks of queries,
// and the softmax of a query is made over again where a block has a larger score (FlashAttention, Dao et al. 2022). The
// backward pass computes the scores once more.
//
// Scores are computed transposed, keys by queries. A vector then holds queries, so that the softmax needs no sum across
// a vector; a mask is that of a row; and rows of the results are pairs as add_pairs (products/panels.h) wants them:
//   out^T_KT += v^T_KS p_ST,  gv_SK += p_ST gout_TK,  gk_SK += g_ST q_TK,  gq^T_KT += k^T_KS g_ST
// for scale = 1 / sqrt(K), probabilities p_ST = exp(scale k q^T - logsumexp), and
// g_ST = scale p (v gout^T - sum_K(gout out)).
//
// Legend: T queries, S keys, K width of the head; L queries of a block.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "devices/bfloat16.h"
#include "devices/vector_exp.h"
#include "half_attention.h"
#include "products/panels.h"

// What others see too stands above, so that no function that they may share is compiled with these instructions.
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,avx512bf16")

namespace ap {
namespace {

constexpr int64_t kKeys = 64;  // of a block
constexpr float kNone = -std::numeric_limits<float>::infinity();

// Two numbers that stand side by side, as the elements of a product.
typedef float __attribute__((__may_alias__)) Pair;

const Pair *pairs(HalfRows x, int64_t row) { return reinterpret_cast<const Pair *>(x.data + row * x.step); }

int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

float scale_of(int64_t K) { return 1 / std::sqrt(static_cast<float>(K)); }

// Lanes of a block of queries.
int64_t lanes_for(int64_t T) { return T <= 32 ? 32 : 64; }

// The least lanes of a panel that cover the width of a head exactly.
int64_t width_lanes(int64_t K) { return K % 64 == 0 ? 64 : 32; }

// Sixteen of them; g++ 12 warns of its own header where intrinsics do what follows.
typedef uint32_t Vector __attribute__((vector_size(64)));
typedef uint32_t LooseVector __attribute__((vector_size(64), aligned(4), __may_alias__));
typedef uint16_t LooseShorts __attribute__((vector_size(32), aligned(2), __may_alias__));

inline Vector load(const void *from) { return *static_cast<const LooseVector *>(from); }
inline void store(void *to, Vector x) { *static_cast<LooseVector *>(to) = x; }
inline Vector widened(const uint16_t *from) { return __builtin_convertvector(*reinterpret_cast<const LooseShorts *>(from), Vector); }

// block_CR = block_RC of 16 rows and columns.
void transpose(Vector *block) {
  constexpr Vector low = {0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29}, high = low + 2;
  constexpr Vector low_pair = {0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29}, high_pair = low_pair + 2;
  constexpr Vector even = {0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27}, odd = even + 4;
  Vector a[16], b[16];
  for (int i = 0; i < 16; i += 2) {
    a[i] = __builtin_shuffle(block[i], block[i + 1], low);
    a[i + 1] = __builtin_shuffle(block[i], block[i + 1], high);
  }
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      b[i + 2 * j] = __builtin_shuffle(a[i + j], a[i + j + 2], low_pair);
      b[i + 2 * j + 1] = __builtin_shuffle(a[i + j], a[i + j + 2], high_pair);
    }
  // b[i + j] now has the columns j, 4 + j, 8 + j and 12 + j of rows i to i + 3.
  for (int j = 0; j < 4; ++j) {
    a[j] = __builtin_shuffle(b[j], b[4 + j], even);
    a[4 + j] = __builtin_shuffle(b[j], b[4 + j], odd);
    a[8 + j] = __builtin_shuffle(b[8 + j], b[12 + j], even);
    a[12 + j] = __builtin_shuffle(b[8 + j], b[12 + j], odd);
  }
  for (int j = 0; j < 8; ++j) {
    block[j] = __builtin_shuffle(a[j], a[8 + j], even);
    block[8 + j] = __builtin_shuffle(a[j], a[8 + j], odd);
  }
}

// The pairs of neighbours in 16 columns: row 2p of x_NK and the next one, zeros behind N.
inline Vector neighbours(HalfRows x, int64_t N, int64_t p, int64_t column) {
  const uint16_t *at = x.data + 2 * p * x.step + column;
  if (2 * p >= N) return Vector{};
  return 2 * p + 1 < N ? widened(at) | widened(at + x.step) << 16 : widened(at);
}

// [K/2,L]: below each other the pairs of a row, side by side n rows, then zeros.
void turn(HalfRows x, int64_t first, int64_t n, int64_t K, int64_t L, Pair *to) {
  Vector block[16];
  for (int64_t l = 0; l < L; l += 16)
    for (int64_t p = 0; p < K / 2; p += 16) {
      for (int64_t i = 0; i < 16; ++i)
        block[i] = l + i < n ? load(x.data + (first + l + i) * x.step + 2 * p) : Vector{};
      transpose(block);
      for (int64_t i = 0; i < 16; ++i) store(to + (p + i) * L + l, block[i]);
    }
}

// [K,half]: side by side the pairs of neighbours in a column of x_NK, then zeros. `half` is a multiple of 16.
void turn_whole(HalfRows x, int64_t N, int64_t K, int64_t half, Pair *to) {
  Vector block[16];
  for (int64_t p = 0; p < half; p += 16)
    for (int64_t k = 0; k < K; k += 16) {
      for (int64_t i = 0; i < 16; ++i) block[i] = neighbours(x, N, p + i, k);
      transpose(block);
      for (int64_t i = 0; i < 16; ++i) store(to + (k + i) * half + p, block[i]);
    }
}

// Panels of G columns, each [half,G]: the pairs of neighbours in a column of x_NK, then zeros.
void stack(HalfRows x, int64_t N, int64_t K, int64_t G, int64_t half, Pair *to) {
  for (int64_t p = 0; p < half; ++p)
    for (int64_t k = 0; k < K; k += 16) store(to + (k / G * half + p) * G + k % G, neighbours(x, N, p, k));
}

// A row in bfloat16, whose length is even.
void round_row_to(const float *from, int64_t K, uint16_t *to) { pair_up(from, K, 1, reinterpret_cast<Pair *>(to)); }

// The first n columns of x_KL, times one factor each, as rows in bfloat16.
void turn_back(const float *x_KL, int64_t K, int64_t L, const float *factors, int64_t n, uint16_t *to, int64_t step) {
  Vector block[16];
  alignas(64) float row[16];
  for (int64_t l = 0; l < n; l += 16)
    for (int64_t k = 0; k < K; k += 16) {
      for (int64_t i = 0; i < 16; ++i) block[i] = load(x_KL + (k + i) * L + l);
      transpose(block);
      for (int64_t i = 0; i < std::min<int64_t>(16, n - l); ++i) {
        std::memcpy(row, &block[i], sizeof row);
        for (float &x : row) x *= factors[l + i];
        round_row_to(row, 16, to + (l + i) * step + k);
      }
    }
}

// c_MN += a_MK b_KN for a panel b of N = 32 or 64 columns; rows of c stand side by side.
void add(const Pair *a, int64_t lda, const Pair *b, int64_t halfK, int64_t N, float *c, int64_t M, int64_t ldc) {
  add_pairs(a, lda, b, halfK, static_cast<int>(N / kLanes), c, ldc, kLanes, M);
}

inline float exponential(float x) { return x != x ? x : x == kNone ? 0.0f : exp_nonpositive(x); }

// The scaled scores of n keys from `key` on, [n,L], and minus infinity where one does not count for a query.
template <int L>
void scores(const HalfHead &h, int64_t key, int64_t n, int64_t query, const Pair *q_KL, float *s) {
  const float scale = scale_of(h.K);
  std::fill(s, s + n * L, 0.0f);
  add(pairs(h.k_SK, key), h.k_SK.step / 2, q_KL, h.K / 2, L, s, n, L);
  for (int64_t j = 0; j < n; ++j) {
    float *row = s + j * L;
    if (h.mask_S && !h.mask_S[key + j]) {
      std::fill(row, row + L, kNone);
      continue;
    }
    const int hidden = h.causal ? static_cast<int>(std::clamp<int64_t>(key + j - query, 0, L)) : 0;
#pragma omp simd
    for (int l = 0; l < L; ++l) row[l] = l < hidden ? kNone : row[l] * scale;
  }
}

// Turns scores [n,L] into exponentials, less the largest of each query so far, and these into pairs of keys [n/2,L].
// By query: what the sums of before are worth now.
template <int L>
void exponentials(float *s, int64_t n, float *largest, float *total, float *worth, Pair *p) {
  alignas(64) float top[L], sum[L];
  std::memcpy(top, largest, sizeof top);
  for (int64_t j = 0; j < n; ++j) {
    const float *row = s + j * L;
#pragma omp simd
    for (int l = 0; l < L; ++l) top[l] = row[l] > top[l] ? row[l] : top[l];
  }
#pragma omp simd
  for (int l = 0; l < L; ++l) {
    worth[l] = exponential(top[l] == kNone ? kNone : largest[l] - top[l]);
    largest[l] = top[l];
    sum[l] = total[l] * worth[l];
    top[l] = top[l] == kNone ? 0.0f : top[l];
  }
  if (n % 2) std::fill(s + n * L, s + (n + 1) * L, kNone);
  for (int64_t j = 0; j < n; j += 2) {
    float *row = s + j * L;
#pragma omp simd
    for (int l = 0; l < L; ++l) {
      const float a = exponential(row[l] - top[l]), b = exponential(row[L + l] - top[l]);
      sum[l] += a + b;
      row[l] = a;
      row[L + l] = b;
    }
    pair_rows(row, row + L, L, p + j / 2 * L);
  }
  std::memcpy(total, sum, sizeof sum);
}

template <int L>
void attend(const HalfHead &h, HalfRows out, float *logsumexp, float *room) {
  const int64_t halfS = up(h.S, 32) / 2;
  Pair *v_KS = room, *q_KL = v_KS + h.K * halfS, *p = q_KL + h.K / 2 * L;
  float *s = p + kKeys / 2 * L, *o_KL = s + kKeys * L;
  turn_whole(h.v_SK, h.S, h.K, halfS, v_KS);
  for (int64_t query = 0; query < h.T; query += L) {
    const int64_t rows = std::min<int64_t>(L, h.T - query), last = h.causal ? std::min(h.S, query + rows) : h.S;
    turn(h.q_TK, query, rows, h.K, L, q_KL);
    alignas(64) float largest[L], total[L], worth[L];
    std::fill(largest, largest + L, kNone);
    std::fill(total, total + L, 0.0f);
    std::fill(o_KL, o_KL + h.K * L, 0.0f);
    for (int64_t key = 0; key < last; key += kKeys) {
      const int64_t n = std::min(kKeys, last - key);
      scores<L>(h, key, n, query, q_KL, s);
      exponentials<L>(s, n, largest, total, worth, p);
      if (key > 0)
        for (int64_t k = 0; k < h.K; ++k) {
          float *row = o_KL + k * L;
#pragma omp simd
          for (int l = 0; l < L; ++l) row[l] *= worth[l];
        }
      add(v_KS + key / 2, halfS, p, up(n, 2) / 2, L, o_KL, h.K, L);
    }
    for (int64_t l = 0; l < L; ++l) {
      const bool none = total[l] == 0;
      if (l < rows) logsumexp[query + l] = none ? 0.0f : largest[l] + std::log(total[l]);
      total[l] = none ? 0.0f : 1 / total[l];
    }
    turn_back(o_KL, h.K, L, total, rows, out.data + query * out.step, out.step);
  }
}

// From scores p and products g of values and the gradient, both [n,L]: probabilities, and the gradient of q k^T.
template <int L>
void differentiate(float *p, float *g, int64_t n, const float *logsumexp, const float *dot, float scale) {
  for (int64_t j = 0; j < n; ++j, p += L, g += L) {
#pragma omp simd
    for (int l = 0; l < L; ++l) {
      p[l] = exponential(p[l] - logsumexp[l]);
      g[l] = scale * p[l] * (g[l] - dot[l]);
    }
  }
}

template <int L>
void attend_back(const HalfHead &h, HalfRows out, const float *logsumexp, HalfRows gout, HalfRows gq, HalfRows gk, HalfRows gv, float *room) {
  const int64_t K = h.K, G = width_lanes(K), blocks = up(h.T, L) / L, halfT = blocks * L / 2, halfS = up(h.S, 32) / 2;
  const auto take = [&room](int64_t n) { return room += n, room - n; };
  Pair *q_KT = take(halfT * K), *gout_KT = take(halfT * K);  // in blocks of L queries
  Pair *q_TK = take(halfT * K), *gout_TK = take(halfT * K);  // in panels of G columns
  Pair *k_KS = take(K * halfS), *p_NL = take(kKeys * L / 2), *g_NL = take(kKeys * L / 2), *g_pairs = take(kKeys / 2 * L);
  float *gq_KT = take(2 * halfT * K), *p = take(kKeys * L), *g = take(kKeys * L), *gk_NK = take(kKeys * K), *gv_NK = take(kKeys * K);
  float *dot = take(2 * halfT), *sums = take(2 * halfT);
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t rows = std::min<int64_t>(L, h.T - b * L);
    turn(h.q_TK, b * L, rows, K, L, q_KT + b * K / 2 * L);
    turn(gout, b * L, rows, K, L, gout_KT + b * K / 2 * L);
  }
  stack(h.q_TK, h.T, K, G, halfT, q_TK);
  stack(gout, h.T, K, G, halfT, gout_TK);
  turn_whole(h.k_SK, h.S, K, halfS, k_KS);
  std::fill(gq_KT, gq_KT + 2 * halfT * K, 0.0f);
  for (int64_t t = 0; t < 2 * halfT; ++t) {
    float sum = 0;
    const uint16_t *a = out.data + t * out.step, *b = gout.data + t * gout.step;
    const int64_t width = t < h.T ? K : 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < width; ++k) sum += float_of(a[k]) * float_of(b[k]);
    dot[t] = sum;
    sums[t] = t < h.T ? logsumexp[t] : 0;
  }
  for (int64_t key = 0; key < h.S; key += kKeys) {
    const int64_t n = std::min(kKeys, h.S - key), even = up(n, 2);
    std::fill(gk_NK, gk_NK + n * K, 0.0f);
    std::fill(gv_NK, gv_NK + n * K, 0.0f);
    for (int64_t b = h.causal ? key / L : 0; b < blocks; ++b) {
      scores<L>(h, key, n, b * L, q_KT + b * K / 2 * L, p);
      std::fill(g, g + even * L, 0.0f);
      add(pairs(h.v_SK, key), h.v_SK.step / 2, gout_KT + b * K / 2 * L, K / 2, L, g, n, L);
      differentiate<L>(p, g, n, sums + b * L, dot + b * L, scale_of(K));
      pair_up(p, L, n, p_NL);
      pair_up(g, L, n, g_NL);
      for (int64_t j = 0; j < n; j += 2) pair_rows(g + j * L, g + (j + 1) * L, L, g_pairs + j / 2 * L);
      for (int64_t c = 0; c < K; c += G) {
        const int64_t at = (c / G * halfT + b * L / 2) * G;
        add(p_NL, L / 2, gout_TK + at, L / 2, G, gv_NK + c, n, K);
        add(g_NL, L / 2, q_TK + at, L / 2, G, gk_NK + c, n, K);
      }
      add(k_KS + key / 2, halfS, g_pairs, even / 2, L, gq_KT + b * K * L, K, L);
    }
    for (int64_t j = 0; j < n; ++j) {
      round_row_to(gk_NK + j * K, K, gk.data + (key + j) * gk.step);
      round_row_to(gv_NK + j * K, K, gv.data + (key + j) * gv.step);
    }
  }
  alignas(64) float ones[L];
  std::fill(ones, ones + L, 1.0f);
  for (int64_t b = 0; b < blocks; ++b)
    turn_back(gq_KT + b * K * L, K, L, ones, std::min<int64_t>(L, h.T - b * L), gq.data + b * L * gq.step, gq.step);
}

}  // namespace

int64_t half_attention_room(const HalfHead &h) {
  const int64_t L = lanes_for(h.T);
  return h.K * up(h.S, 32) / 2 + h.K / 2 * L + kKeys / 2 * L + kKeys * L + h.K * L;
}

int64_t half_attention_back_room(const HalfHead &h) {
  const int64_t L = lanes_for(h.T), T = up(h.T, L);
  return 4 * T / 2 * h.K + h.K * up(h.S, 32) / 2 + 3 * kKeys * L / 2 + T * h.K + 2 * kKeys * L + 2 * kKeys * h.K + 2 * T;
}

void half_attention(const HalfHead &h, HalfRows out, float *logsumexp, float *room) {
  lanes_for(h.T) == 32 ? attend<32>(h, out, logsumexp, room) : attend<64>(h, out, logsumexp, room);
}

void half_attention_back(const HalfHead &h, HalfRows out, const float *logsumexp, HalfRows gout, HalfRows gq, HalfRows gk, HalfRows gv,
                         float *room) {
  lanes_for(h.T) == 32 ? attend_back<32>(h, out, logsumexp, gout, gq, gk, gv, room)
                       : attend_back<64>(h, out, logsumexp, gout, gq, gk, gv, room);
}

}  // namespace ap

#pragma GCC pop_options
