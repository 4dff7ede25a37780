// One step of a Transformer's decoder in one call: all layers for the next word
// of every hypothesis, with the keys and values of the words before.
//
// Rows are independent, so a task takes some sentences through all layers, and
// threads meet once a step. Keys and values are written once and never moved:
// a hypothesis names the row of each earlier step that it continues.
//
// Legend: R hypotheses (those of a sentence side by side), B sentences, D width,
// H heads, K = D/H, F inner width, L layers, M real source tokens of all
// sentences, S tokens of the longest source.
#include <cmath>
#include <cstring>
#include <vector>

#include "api_decoder_step.h"
#include "border/common.h"
#include "devices/isa.h"
#include "products/packed_linear.h"
#include "devices/register.h"
#include "devices/vector_exp.h"

namespace ap {
namespace {

// out = LayerNorm(x), or only x where gain is null, after x += y where y is given.
AP_KERNEL(void, add_norm_row, float *x, const float *y, const float *gain, const float *bias, float eps, float *out, int64_t D) {
  if (y) {
#pragma omp simd
    for (int64_t i = 0; i < D; ++i) x[i] += y[i];
  }
  if (!gain) return;
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < D; ++i) sum += x[i];
  const float mean = sum / D;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < D; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = 1 / std::sqrt(squares / D + eps);
#pragma omp simd
  for (int64_t i = 0; i < D; ++i) out[i] = (x[i] - mean) * scale * gain[i] + bias[i];
}

// Attention of one query q_D over n memories, each a key and a value side by
// side [2D]. weights_Hn receives the probabilities.
AP_KERNEL(void, attend_any, const float *q, const float *const *memory, int64_t n, int64_t D, int64_t H, float *weights_Hn, float *out) {
  const int64_t K = D / H;
  const float scale = 1 / std::sqrt(static_cast<float>(K));
  for (int64_t h = 0; h < H; ++h) {
    const int64_t head = h * K;
    float *w = weights_Hn + h * n;
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t i = head; i < head + K; ++i) sum += q[i] * memory[j][i];
      w[j] = sum * scale;
    }
    softmax_in_place(w, n);
    for (int64_t i = head; i < head + K; ++i) out[i] = 0;
    for (int64_t j = 0; j < n; ++j) {
      const float *value = memory[j] + D;
      const float weight = w[j];
#pragma omp simd
      for (int64_t i = head; i < head + K; ++i) out[i] += weight * value[i];
    }
  }
}

// The same for heads of width K, whose query and sums stay in registers. A score is summed in 16 parts, whatever the
// lanes.
template <int lanes, int64_t K>
__attribute__((always_inline)) inline void attend_known(const float *q, const float *const *memory, int64_t n, int64_t D, int64_t H, float *weights_Hn,
                                                        float *out) {
  typedef typename Register<lanes>::type Lanes;
  constexpr int64_t parts = K / lanes, pieces = 16 / lanes;
  const float scale = 1 / std::sqrt(static_cast<float>(K));
  for (int64_t h = 0; h < H; ++h) {
    const int64_t head = h * K;
    float *w = weights_Hn + h * n;
    Lanes query[parts], total[parts] = {};
    for (int64_t p = 0; p < parts; ++p) query[p] = *reinterpret_cast<const Lanes *>(q + head + p * lanes) * scale;
    for (int64_t j = 0; j < n; ++j) {
      const float *key = memory[j] + head;
      Lanes sums[pieces] = {};
      for (int64_t p = 0; p < parts; ++p) sums[p % pieces] += query[p] * *reinterpret_cast<const Lanes *>(key + p * lanes);
      for (int64_t i = 1; i < pieces; ++i) sums[0] += sums[i];
      w[j] = sum_of(sums[0]);
    }
    softmax_in_place(w, n);
    for (int64_t j = 0; j < n; ++j) {
      const float *value = memory[j] + D + head, weight = w[j];
      for (int64_t p = 0; p < parts; ++p) total[p] += weight * *reinterpret_cast<const Lanes *>(value + p * lanes);
    }
    for (int64_t p = 0; p < parts; ++p) *reinterpret_cast<Lanes *>(out + head + p * lanes) = total[p];
  }
}

template <int64_t K>
struct AttendKnown {
  AP_AVX512 static void avx512(const float *q, const float *const *memory, int64_t n, int64_t D, int64_t H, float *weights_Hn, float *out) {
    attend_known<16, K>(q, memory, n, D, H, weights_Hn, out);
  }
  AP_AVX2 static void avx2(const float *q, const float *const *memory, int64_t n, int64_t D, int64_t H, float *weights_Hn, float *out) {
    attend_known<8, K>(q, memory, n, D, H, weights_Hn, out);
  }
};

struct Attend64 : AttendKnown<64> {
  static constexpr const char *name = __FILE__ "/attend_64";
};

struct Attend32 : AttendKnown<32> {
  static constexpr const char *name = __FILE__ "/attend_32";
};

constexpr Kernel<Attend64> attend_64;
constexpr Kernel<Attend32> attend_32;

struct Linear {
  at::Tensor weight, bias;
  at::Tensor operator()(const at::Tensor &x, bool relu = false) const { return packed_linear(x, weight, bias, relu); }
};

struct Norm {
  const float *gain = nullptr, *bias = nullptr;
};

struct Layer {
  Linear qkv, out, cross_q, cross_out, fc1, fc2;
  Norm self_norm, cross_norm, final_norm;
};

constexpr int tensors_of_a_layer = 18;

// The order is that of the list in models/decoder.go.
Layer read_layer(ap_tensor *t) {
  const auto linear = [&](int i) { return Linear{get(t[i]), get(t[i + 1])}; };
  const auto norm = [&](int i) { return Norm{get(t[i]).const_data_ptr<float>(), get(t[i + 1]).const_data_ptr<float>()}; };
  return {linear(0), linear(2), linear(6), linear(8), linear(12), linear(14), norm(4), norm(10), norm(16)};
}

struct Step {
  std::vector<Layer> layers;
  Norm last;
  int64_t R, D, H, beam, steps, S;
  bool pre_norm;
  float eps;
  std::vector<const float *> history;    // by earlier step: [L,R_t,2D]
  std::vector<int64_t> history_rows;     // R_t
  const int32_t *ancestors_Rt;           // the row of each earlier step that a hypothesis continues
  std::vector<const float *> memory;     // by layer: [M,2D]
  const int32_t *starts, *lengths;       // by sentence: its rows of memory
  float *kv_LR2D, *hidden_RD, *attention_RS;

  // Takes the hypotheses [begin, end) through the decoder; x_nD is theirs alone.
  void rows(int64_t begin, int64_t end, at::Tensor x_nD) const {
    const int64_t n = end - begin, L = static_cast<int64_t>(layers.size());
    float *x = x_nD.mutable_data_ptr<float>();
    at::Tensor context_nD = at::empty_like(x_nD), normed_nD = pre_norm ? at::empty_like(x_nD) : x_nD;
    float *context = context_nD.mutable_data_ptr<float>(), *normed = normed_nD.mutable_data_ptr<float>();
    std::vector<float> weights(H * std::max(steps + 1, S));
    std::vector<const float *> seen(std::max(steps + 1, S));

    const auto attend = [&](const float *q, int64_t n, float *out) {
      if (D == 64 * H)
        attend_64(q, seen.data(), n, D, H, weights.data(), out);
      else if (D == 32 * H)
        attend_32(q, seen.data(), n, D, H, weights.data(), out);
      else
        attend_any(q, seen.data(), n, D, H, weights.data(), out);
    };

    // Before a sub-layer (pre-norm), or after one with its output y (post-norm).
    const auto before = [&](const Norm &norm) {
      for (int64_t r = 0; pre_norm && r < n; ++r) add_norm_row(x + r * D, nullptr, norm.gain, norm.bias, eps, normed + r * D, D);
    };
    const auto after = [&](const Norm &norm, const at::Tensor &y_nD) {
      const float *y = y_nD.const_data_ptr<float>();
      for (int64_t r = 0; r < n; ++r) add_norm_row(x + r * D, y + r * D, pre_norm ? nullptr : norm.gain, norm.bias, eps, x + r * D, D);
    };

    for (int64_t l = 0; l < L; ++l) {
      const Layer &layer = layers[l];
      before(layer.self_norm);
      const at::Tensor qkv_n3D = layer.qkv(normed_nD);
      const float *qkv = qkv_n3D.const_data_ptr<float>();
      float *kv = kv_LR2D + l * R * 2 * D;
      for (int64_t r = 0; r < n; ++r) {
        const int64_t row = begin + r;
        std::copy(qkv + r * 3 * D + D, qkv + (r + 1) * 3 * D, kv + row * 2 * D);
        for (int64_t t = 0; t < steps; ++t) seen[t] = history[t] + (l * history_rows[t] + ancestors_Rt[row * steps + t]) * 2 * D;
        seen[steps] = kv + row * 2 * D;
        attend(qkv + r * 3 * D, steps + 1, context + r * D);
      }
      after(layer.self_norm, layer.out(context_nD));

      before(layer.cross_norm);
      const at::Tensor q_nD = layer.cross_q(normed_nD);
      const float *q = q_nD.const_data_ptr<float>();
      for (int64_t r = 0; r < n; ++r) {
        const int64_t row = begin + r, sentence = row / beam, length = lengths[sentence];
        if (r == 0 || row % beam == 0)
          for (int64_t j = 0; j < length; ++j) seen[j] = memory[l] + (starts[sentence] + j) * 2 * D;
        attend(q + r * D, length, context + r * D);
        if (attention_RS && l == L - 1)
          for (int64_t h = 0; h < H; ++h)
            for (int64_t j = 0; j < length; ++j) attention_RS[row * S + j] += weights[h * length + j] / H;
      }
      after(layer.cross_norm, layer.cross_out(context_nD));

      before(layer.final_norm);
      after(layer.final_norm, layer.fc2(layer.fc1(normed_nD, true)));
    }
    for (int64_t r = 0; r < n; ++r) {
      float *hidden = hidden_RD + (begin + r) * D;
      if (pre_norm)
        add_norm_row(x + r * D, nullptr, last.gain, last.bias, eps, hidden, D);
      else
        std::copy(x + r * D, x + (r + 1) * D, hidden);
    }
  }
};

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_decoder_step(ap_tensor x, ap_tensor *weights, int layers, ap_tensor *last_norm, int heads, double eps, ap_tensor *history,
                                    int steps, const int32_t *ancestors, ap_tensor *memory, const int32_t *starts, const int32_t *lengths,
                                    int sentences, int longest, bool want_attention, ap_tensor *hidden, ap_tensor *kv, ap_tensor *attention) {
  return guard([&] {
    at::NoGradGuard no_grad;
    const at::Tensor x_RD = get(x).detach();
    TORCH_CHECK(x_RD.dim() == 2 && x_RD.is_cpu() && x_RD.scalar_type() == at::kFloat, "the words must be a float32 matrix on the CPU, not ",
                x_RD.toString(), " of shape ", x_RD.sizes());
    Step s;
    s.R = x_RD.size(0), s.D = x_RD.size(1), s.H = heads, s.steps = steps, s.S = longest, s.eps = static_cast<float>(eps);
    TORCH_CHECK(sentences > 0 && s.R % sentences == 0, s.R, " hypotheses do not belong to ", sentences, " sentences");
    s.beam = s.R / sentences;
    s.pre_norm = last_norm != nullptr;
    if (s.pre_norm) s.last = {get(last_norm[0]).const_data_ptr<float>(), get(last_norm[1]).const_data_ptr<float>()};
    for (int l = 0; l < layers; ++l) {
      s.layers.push_back(read_layer(weights + l * tensors_of_a_layer));
      s.memory.push_back(get(memory[l]).const_data_ptr<float>());
    }
    for (int t = 0; t < steps; ++t) {
      s.history.push_back(get(history[t]).const_data_ptr<float>());
      s.history_rows.push_back(get(history[t]).size(1));
    }
    s.ancestors_Rt = ancestors, s.starts = starts, s.lengths = lengths;
    at::Tensor kv_LR2D = at::empty({layers, s.R, 2 * s.D}, x_RD.options()), hidden_RD = at::empty({s.R, s.D}, x_RD.options()), attention_RS;
    s.kv_LR2D = kv_LR2D.mutable_data_ptr<float>(), s.hidden_RD = hidden_RD.mutable_data_ptr<float>(), s.attention_RS = nullptr;
    if (want_attention) {
      attention_RS = at::zeros({s.R, s.S}, x_RD.options());
      s.attention_RS = attention_RS.mutable_data_ptr<float>();
    }
    // Tasks of about 128 rows: enough for the products, little enough for the caches.
    const int64_t tasks = count_tasks(sentences, s.R, 128, 12.0 * layers * s.D * s.D);
    run_tasks(tasks, [&](int64_t i) {
      const int64_t begin = i * sentences / tasks * s.beam, end = (i + 1) * sentences / tasks * s.beam;
      s.rows(begin, end, x_RD.narrow(0, begin, end - begin).clone(at::MemoryFormat::Contiguous));
    });
    *hidden = wrap(hidden_RD);
    *kv = wrap(kv_LR2D);
    if (want_attention) *attention = wrap(attention_RS);
  });
}
