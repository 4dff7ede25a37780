// One step of an attentional decoder in one call: all layers, attention and the
// attentional state for the next word of every hypothesis (attentional.cc has the
// equations, and why sources come as keys and values).
//
// Rows are independent, so a task takes some sentences through all of it, and threads
// meet once a step.
//
// Legend: R hypotheses (those of a sentence side by side), n those of a task, E width of
// word vectors, D of states, L layers, M real words of all sources, S words of the
// longest.
#include <vector>

#include "api_attentional_step.h"
#include "border/common.h"
#include "recurrent/gates.h"
#include "devices/isa.h"
#include "recurrent/lstm_units.h"
#include "products/packed_linear.h"
#include "word_attention.h"

namespace ap {
namespace {

AP_KERNEL(void, add_and_tanh, float *x, const float *y, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) x[j] = hyperbolic_tangent(x[j] + y[j]);
}

// What a step reads, and where it goes; attention_RS is null where attention is not
// wanted.
struct Step {
  std::vector<at::Tensor> gates;       // by layer, packed
  std::vector<const float *> bias_4D;  // by layer
  at::Tensor mix;                      // packed
  const float *words_RE, *state, *keys_MD, *values_MD;
  const int32_t *starts, *lengths;
  int64_t R, E, D, L, S, beam;
  float *out_RD, *next, *attention_RS;

  // Takes the sentences [first, last) through the step.
  void sentences(int64_t first, int64_t last, const at::TensorOptions &options) const {
    const int64_t begin = first * beam, n = (last - first) * beam, row = (2 * L + 1) * D;
    const float *before = state + begin * row;
    float *after = next + begin * row;
    // Part p of the rows of a state: 0 is o, 1 + l is h and 1 + L + l is c of layer l.
    const auto take = [&](const float *rows, int64_t p, float *to, int64_t step) {
      for (int64_t r = 0; r < n; ++r) std::copy_n(rows + r * row + p * D, D, to + r * step);
    };
    const auto put = [&](const at::Tensor &x_nD, int64_t p) {
      for (int64_t r = 0; r < n; ++r) std::copy_n(x_nD.const_data_ptr<float>() + r * D, D, after + r * row + p * D);
    };
    at::Tensor h = at::empty({n, D}, options), c_before = at::empty({n, D}, options), c = at::empty({n, D}, options);
    for (int64_t l = 0; l < L; ++l) {
      const int64_t in = l ? D : E + D;
      const at::Tensor x = at::empty({n, in + D}, options);
      auto *to = x.mutable_data_ptr<float>();
      if (l == 0) {
        for (int64_t r = 0; r < n; ++r) std::copy_n(words_RE + (begin + r) * E, E, to + r * (in + D));
        take(before, 0, to + E, in + D);
      } else {
        take(after, l, to, in + D);  // h of the layer below
      }
      take(before, 1 + l, to + in, in + D);
      take(before, 1 + L + l, c_before.mutable_data_ptr<float>(), D);
      at::Tensor products = packed_linear(x, gates[l], {}, false);
      const LSTMStep step{0, n, D, nullptr, products.mutable_data_ptr<float>(), c_before.const_data_ptr<float>(), c.mutable_data_ptr<float>(),
                          h.mutable_data_ptr<float>(), nullptr, nullptr};
      forward_units(step, bias_4D[l], 0, D);
      put(h, 1 + l);
      put(c, 1 + L + l);
    }
    at::Tensor mixed = packed_linear(h, mix, {}, false);
    float *out = out_RD + begin * D;
    std::vector<float> weights(beam * S);
    for (int64_t i = first; i < last; ++i) {
      const int64_t at = (i - first) * beam * D, words = lengths[i];
      if (words > 0)
        attend_words(h.const_data_ptr<float>() + at, keys_MD + starts[i] * D, values_MD + starts[i] * D, beam, words, D, weights.data(), out + at);
      else
        std::fill_n(out + at, beam * D, 0.0f);
      for (int64_t r = 0; attention_RS && r < beam; ++r) std::copy_n(weights.data() + r * words, words, attention_RS + (i * beam + r) * S);
    }
    add_and_tanh(out, mixed.const_data_ptr<float>(), n * D);
    for (int64_t r = 0; r < n; ++r) std::copy_n(out + r * D, D, after + r * row);
  }
};

const float *floats(const at::Tensor &x, at::IntArrayRef shape, const char *what) {
  TORCH_CHECK(x.is_cpu() && x.scalar_type() == at::kFloat && x.sizes() == shape && x.is_contiguous(), what, " must be a float32 tensor of shape ", shape,
              " on the CPU, row by row in memory, and is a ", x.toString(), " of shape ", x.sizes());
  return x.const_data_ptr<float>();
}

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_attentional_step(ap_tensor words, ap_tensor state, ap_tensor *weights, int layers, ap_tensor keys, ap_tensor values,
                                        const int32_t *starts, const int32_t *lengths, int sentences, int longest, bool want_attention, ap_tensor *out,
                                        ap_tensor *next, ap_tensor *attention) {
  return guard([&] {
    at::NoGradGuard no_grad;
    const at::Tensor words_RE = get(words).detach().contiguous(), before = get(state).detach().contiguous(), mix = get(weights[2 * layers]);
    TORCH_CHECK(words_RE.dim() == 2 && get(keys).dim() == 2 && mix.dim() == 2, "words, keys and weights must be matrices");
    Step s;
    s.R = words_RE.size(0), s.E = words_RE.size(1), s.D = mix.size(0), s.L = layers, s.S = longest, s.mix = mix;
    TORCH_CHECK(sentences > 0 && s.R % sentences == 0, s.R, " hypotheses do not belong to ", sentences, " sentences");
    s.beam = s.R / sentences;
    for (int l = 0; l < layers; ++l) {
      s.gates.push_back(get(weights[2 * l]));
      s.bias_4D.push_back(floats(get(weights[2 * l + 1]), {4 * s.D}, "a layer's bias"));
      TORCH_CHECK(s.gates[l].size(0) == 4 * s.D && s.gates[l].size(1) == (l ? 2 * s.D : s.E + 2 * s.D), "layer ", l, "'s matrix of shape ",
                  s.gates[l].sizes(), " does not fit words of width ", s.E, " and states of width ", s.D);
    }
    const int64_t M = get(keys).size(0);
    s.words_RE = floats(words_RE, {s.R, s.E}, "the words");
    s.state = floats(before, {s.R, (2 * s.L + 1) * s.D}, "the state");
    s.keys_MD = floats(get(keys), {M, s.D}, "the keys"), s.values_MD = floats(get(values), {M, s.D}, "the values");
    s.starts = starts, s.lengths = lengths;
    for (int i = 0; i < sentences; ++i)
      TORCH_CHECK(starts[i] >= 0 && lengths[i] >= 0 && lengths[i] <= longest && starts[i] + lengths[i] <= M, "rows ", starts[i], " to ",
                  starts[i] + lengths[i], " of the source do not exist: there are ", M);
    at::Tensor out_RD = at::empty({s.R, s.D}, words_RE.options()), after = at::empty_like(before), attention_RS;
    s.out_RD = out_RD.mutable_data_ptr<float>(), s.next = after.mutable_data_ptr<float>(), s.attention_RS = nullptr;
    if (want_attention) {
      attention_RS = at::zeros({s.R, s.S}, words_RE.options());
      s.attention_RS = attention_RS.mutable_data_ptr<float>();
    }
    // Tasks of about 128 rows: enough for the products, little enough for the caches.
    const int64_t tasks = count_tasks(sentences, s.R, 128, (8.0 * s.L + 1) * s.D * s.D);
    run_tasks(tasks, [&](int64_t i) { s.sentences(i * sentences / tasks, (i + 1) * sentences / tasks, words_RE.options()); });
    *out = wrap(out_RD);
    *next = wrap(after);
    if (want_attention) *attention = wrap(attention_RS);
  });
}
