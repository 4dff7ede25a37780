// The best continuations of every sentence's hypotheses, straight from the hidden
// states: product, log-softmax, running scores, rules and selection, a group of
// sentences at a time, so that logits never leave the caches for long.
//
//   score of (r, v) = scores_r + logit_rv - log sum_j exp(logit_rj)
//
// Legend: R hypotheses, G of a sentence (side by side), B = R/G sentences, D
// width, V vocabulary, k candidates of a sentence.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "api_beam_topk.h"
#include "border/common.h"
#include "devices/isa.h"
#include "products/packed_linear.h"
#include "devices/vector_exp.h"

namespace ap {
namespace {

constexpr int64_t block = 64;  // columns that are looked at or skipped together
constexpr double never = -std::numeric_limits<double>::infinity();

// Writes the largest logit of each block and returns the largest of all.
AP_KERNEL(float, block_maxima, const float *row, int64_t V, float *maxima) {
  float top = -std::numeric_limits<float>::infinity();
  for (int64_t start = 0, b = 0; start < V; start += block, ++b) {
    const int64_t end = start + block < V ? start + block : V;
    float most = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : most)
    for (int64_t j = start; j < end; ++j) most = row[j] > most ? row[j] : most;
    maxima[b] = most;
    top = most > top ? most : top;
  }
  return top;
}

AP_KERNEL(double, log_sum_exp, const float *row, int64_t V, float top) {
  double totals = 0;
  for (int64_t start = 0; start < V; start += kSummed) {
    const int64_t end = start + kSummed < V ? start + kSummed : V;
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = start; j < end; ++j) total += exp_nonpositive(row[j] - top);
    totals += total;
  }
  return top + std::log(totals);
}

struct Candidate {
  double score, log_prob;
  int32_t row, id;
  // The better one; of equals the earlier row and id, so that the order is one.
  bool operator<(const Candidate &o) const {
    if (score != o.score) return score > o.score;
    return row != o.row ? row < o.row : id < o.id;
  }
};

// The k best seen so far: a heap with the worst in front.
struct Best {
  explicit Best(size_t k) : k(k) { heap.reserve(k + 1); }
  double bar() const { return heap.size() < k ? never : heap.front().score; }
  void offer(const Candidate &c) {
    if (!(c.score > never) || (heap.size() == k && !(c < heap.front()))) return;
    heap.push_back(c);
    std::push_heap(heap.begin(), heap.end());
    if (heap.size() > k) {
      std::pop_heap(heap.begin(), heap.end());
      heap.pop_back();
    }
  }
  size_t k;
  std::vector<Candidate> heap;
};

struct Rules {
  int64_t pad, end;
  const uint8_t *end_rule_B;  // 0 free, 1 the end is forbidden, 2 nothing but the end
  const int32_t *banned;      // ids, row by row
  const int64_t *banned_R;    // where a row's ids begin, and their number at the end; NULL for none
};

// The words that a sentence may take, as if there were no others.
struct Allowed {
  const int32_t *ids;       // rising, sentence by sentence
  const int64_t *starts_B;  // where a sentence's ids begin, and their number at the end; NULL allows all
};

// Makes all other words of a row impossible.
void keep_allowed(float *row, int64_t V, const int32_t *begin, const int32_t *end) {
  const float none = -std::numeric_limits<float>::infinity();
  int64_t from = 0;
  for (const int32_t *id = begin; id != end; from = *id++ + 1) std::fill(row + from, row + *id, none);
  std::fill(row + from, row + V, none);
}

// Words whose log-probabilities are asked for, whatever the rules say of them.
struct Wanted {
  const int32_t *ids;      // row by row
  const int64_t *starts_R; // as Rules::banned_R; NULL for none
  double *log_probs;
};

// Offers the continuations of one row, which is changed by the rules.
void offer_row(float *row, int64_t V, int32_t r, double score, bool normalise, const Rules &rules, int rule, const Wanted &wanted, float *maxima,
               Best &best) {
  if (score == never) {
    if (wanted.starts_R) std::fill(wanted.log_probs + wanted.starts_R[r], wanted.log_probs + wanted.starts_R[r + 1], never);
    return;
  }
  const float none = -std::numeric_limits<float>::infinity();
  float top = block_maxima(row, V, maxima);
  const double shift = normalise ? log_sum_exp(row, V, top) : 0;
  if (wanted.starts_R)
    for (int64_t i = wanted.starts_R[r]; i < wanted.starts_R[r + 1]; ++i)
      wanted.log_probs[i] = static_cast<double>(row[wanted.ids[i]]) - shift;
  const auto offer = [&](int64_t v) {
    const double log_prob = static_cast<double>(row[v]) - shift;
    best.offer({score + log_prob, log_prob, r, static_cast<int32_t>(v)});
  };
  if (rule == 2) return offer(rules.end);
  if (rules.pad >= 0 && rules.pad < V) row[rules.pad] = none;
  if (rule == 1) row[rules.end] = none;
  if (rules.banned_R)
    for (int64_t i = rules.banned_R[r]; i < rules.banned_R[r + 1]; ++i) row[rules.banned[i]] = none;
  for (int64_t start = 0, b = 0; start < V; start += block, ++b) {
    // The bar as a logit, a little lowered for its rounding.
    const double bar = best.bar() - score + shift;
    if (maxima[b] < bar - 1e-5 * std::abs(bar)) continue;
    for (int64_t j = start; j < std::min(V, start + block); ++j)
      if (row[j] >= bar - 1e-5 * std::abs(bar)) offer(j);
  }
}

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_beam_topk(ap_tensor x, ap_tensor weight, ap_tensor bias, const double *scores, int64_t sentences, int64_t k, int64_t pad, int64_t end,
                                 const uint8_t *end_rule, const int32_t *banned, const int64_t *banned_starts, const int32_t *wanted,
                                 const int64_t *wanted_starts, const int32_t *allowed, const int64_t *allowed_starts, double *out_scores,
                                 double *out_log_probs, int32_t *out_rows, int32_t *out_ids, double *out_wanted) {
  return guard([&] {
    at::NoGradGuard no_grad;
    const at::Tensor x_RD = get(x).detach().contiguous();
    TORCH_CHECK(x_RD.dim() == 2 && x_RD.is_cpu() && x_RD.scalar_type() == at::kFloat, "the rows must be a float32 matrix on the CPU, not ",
                x_RD.toString(), " of shape ", x_RD.sizes());
    const int64_t R = x_RD.size(0), V = weight ? get(weight).size(0) : x_RD.size(1);
    TORCH_CHECK(sentences > 0 && R % sentences == 0, R, " hypotheses do not belong to ", sentences, " sentences");
    TORCH_CHECK(end >= 0 && end < V, "the end of sentence ", end, " is outside the vocabulary of ", V);
    const int64_t G = R / sentences;
    const at::Tensor w = weight ? get(weight) : at::Tensor(), b = bias ? get(bias) : at::Tensor();
    const Rules rules{pad, end, end_rule, banned, banned_starts};
    const Wanted asked{wanted, wanted_starts, out_wanted};
    const Allowed only{allowed, allowed_starts};
    for (int64_t s = 0; only.starts_B && s < sentences; ++s)
      for (int64_t i = only.starts_B[s], before = -1; i < only.starts_B[s + 1]; before = only.ids[i++])
        TORCH_CHECK(only.ids[i] > before && only.ids[i] < V, "the allowed words do not rise within the vocabulary of ", V, ": ", only.ids[i]);
    for (const auto &[ids, starts_R] : {std::pair(banned, banned_starts), std::pair(wanted, wanted_starts)})
      for (int64_t i = 0; starts_R && i < starts_R[R]; ++i)
        TORCH_CHECK(ids[i] >= 0 && ids[i] < V, "the word ", ids[i], " is outside of the vocabulary of ", V);
    // Tasks of about 64 rows: enough for the product, little enough for the caches.
    const int64_t tasks = count_tasks(sentences, R, 64, static_cast<double>(V) * (weight ? x_RD.size(1) : 8));
    run_tasks(tasks, [&](int64_t task) {
      const int64_t first = task * sentences / tasks, last = (task + 1) * sentences / tasks;
      at::Tensor rows = x_RD.narrow(0, first * G, (last - first) * G);
      rows = weight ? packed_linear(rows, w, b, false) : rows.clone();
      float *data = rows.mutable_data_ptr<float>();
      std::vector<float> maxima((V + block - 1) / block);
      for (int64_t sentence = first; sentence < last; ++sentence) {
        Best best(k);
        for (int64_t r = sentence * G; r < (sentence + 1) * G; ++r) {
          float *row = data + (r - first * G) * V;
          if (only.starts_B) keep_allowed(row, V, only.ids + only.starts_B[sentence], only.ids + only.starts_B[sentence + 1]);
          offer_row(row, V, static_cast<int32_t>(r), scores[r], weight != nullptr, rules, end_rule[sentence], asked, maxima.data(), best);
        }
        std::sort_heap(best.heap.begin(), best.heap.end());
        for (int64_t i = 0; i < k; ++i) {
          const bool there = i < static_cast<int64_t>(best.heap.size());
          const Candidate c = there ? best.heap[i] : Candidate{never, never, -1, -1};
          const int64_t o = sentence * k + i;
          out_scores[o] = c.score, out_log_probs[o] = c.log_prob, out_rows[o] = c.row, out_ids[o] = c.id;
        }
      }
    });
  });
}
