// An attentional decoder over all time steps:
//   layer 0 reads [word_t; o_{t-1}], layer l > 0 the masked h_t of the layer below (lstm.cc has a layer's equations)
//   a_t = softmax over the source's words of memory W_a s_t,   s_t the last layer's h_t
//   o_t = mask * tanh(W_c [a_t memory; s_t])
//
// What does not wait for a step before it is one product for all steps: the words'
// part of the first layer's gates, and what attention reads, with both of its matrices
// folded into the memory:
//   keys = memory W_a,   values = memory W_c(:, :D)^T,   o_t = mask * tanh(a_t values + W_c(:, D:) s_t)
// so that a step multiplies by neither. What it does multiply by is packed into panels
// once (step_panels.h), and each panel's products are followed by all that is
// elementwise while their sums are at hand. Forwards a step is a part for each layer,
// one for attention, which threads share by sentences, and one for o; backwards
// they are the same. The weights' gradients are one product each.
//
// Results and gradients have the same bits for any number of threads, as those of
// lstm.cc have, and for the same reasons.
//
// Legend: T steps, B sentences, S words of the longest source, E width of word vectors,
// D of states.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <vector>

#include "api_attentional.h"
#include "border/common.h"
#include "border/operator.h"
#include "recurrent/bias_gradient.h"
#include "recurrent/gates.h"
#include "devices/isa.h"
#include "recurrent/lstm_units.h"
#include "products/products.h"
#include "products/step_panels.h"
#include "word_attention.h"

namespace ap {
namespace {

// Columns [begin, end) of rows [B,D].
struct Columns {
  int64_t B, D, begin, end;
};

// to = x * mask, which may be in place.
AP_KERNEL(void, mask_columns, const Columns &s, const float *x, const float *mask, float *to) {
  for (int64_t row = 0; row < s.B * s.D; row += s.D) {
#pragma omp simd
    for (int64_t j = row + s.begin; j < row + s.end; ++j) to[j] = x[j] * mask[j];
  }
}

AP_KERNEL(void, tanh_columns, const Columns &s, float *x) {
  for (int64_t row = 0; row < s.B * s.D; row += s.D) {
#pragma omp simd
    for (int64_t j = row + s.begin; j < row + s.end; ++j) x[j] = hyperbolic_tangent(x[j]);
  }
}

// Turns the gradient of o from later steps into that of what went into the hyperbolic
// tangent, whose value is `tanh`; a null mask is all ones.
AP_KERNEL(void, tanh_columns_back, const Columns &s, const float *gout, const float *mask, const float *tanh, float *later) {
  for (int64_t row = 0; row < s.B * s.D; row += s.D) {
#pragma omp simd
    for (int64_t j = row + s.begin; j < row + s.end; ++j) later[j] = (gout[j] + later[j]) * (1 - tanh[j] * tanh[j]);
    if (!mask) continue;
#pragma omp simd
    for (int64_t j = row + s.begin; j < row + s.end; ++j) later[j] *= mask[j];
  }
}

// Empties columns of `groups` matrices side by side.
void clear_columns(const Columns &s, int64_t groups, float *x) {
  for (int64_t b = 0; b < s.B * groups; ++b) std::fill(x + b * s.D + s.begin, x + b * s.D + s.end, 0.0f);
}

// What is no operand of autograd's: a mask by layer, the last for attentional states,
// undefined where there is none; real words of sources [B], undefined where all are.
struct Fixed {
  std::vector<at::Tensor> masks;
  at::Tensor lengths;
};

// The operands by name.
struct Operands {
  at::Tensor words, memory, query, mix;
  struct Layer {
    at::Tensor w_ih, w_hh, b_ih, b_hh, h, c;
  };
  std::vector<Layer> layers;

  explicit Operands(at::TensorList x) : words(x[0].contiguous()), memory(x[1].contiguous()), query(x[2].contiguous()), mix(x[3].contiguous()) {
    for (size_t i = 4; i < x.size(); i += kOfLayer)
      layers.push_back({x[i].contiguous(), x[i + 1].contiguous(), x[i + 2].contiguous(), x[i + 3].contiguous(), x[i + 4], x[i + 5]});
  }

  static constexpr size_t kOfLayer = 6;
  int64_t T() const { return words.size(0); }
  int64_t B() const { return words.size(1); }
  int64_t E() const { return words.size(2); }
  int64_t S() const { return memory.size(1); }
  int64_t D() const { return memory.size(2); }
  at::Tensor words_part() const { return layers[0].w_ih.narrow(1, 0, E()); }
  at::Tensor state_part() const { return layers[0].w_ih.narrow(1, E(), D()); }
  at::Tensor context_part() const { return mix.narrow(1, 0, D()); }
  at::Tensor query_part() const { return mix.narrow(1, D(), D()); }  // that multiplies s_t
};

// What the way forward leaves for the way back. Where a tensor has T + 1 steps, step 0
// is before the first word.
struct Trace {
  at::Tensor keys, values;  // [B,S,D]
  at::Tensor weights;       // [T,B,S], 0 at padding
  at::Tensor tanh, out;     // [T,B,D] before the mask, where there is one; [T+1,B,D]
  struct Layer {
    at::Tensor gates, h, c, passed;  // [T,B,4D], [T+1,B,D] twice, [T,B,D]: h after its mask, where there is one
  };
  std::vector<Layer> layers;
};

constexpr size_t kOfTrace = 5, kOfTraceLayer = 4;

float *data(const at::Tensor &x, int64_t step = 0) { return const_cast<float *>(x.const_data_ptr<float>()) + (step ? step * x.stride(0) : 0); }

// A mask's part for a step; null where there is none.
const float *mask_at(const at::Tensor &mask, int64_t t) { return mask.defined() ? data(mask, mask.size(0) == 1 ? 0 : t) : nullptr; }

// The words of source b that are real.
int64_t real_words(const Fixed &fixed, int64_t S, int64_t b) { return fixed.lengths.defined() ? fixed.lengths.const_data_ptr<int64_t>()[b] : S; }

// Threads share panels, or sentences of a step of attention.
template <class F>
void for_panels(const StepPanels &panels, int64_t B, F f) {
  at::parallel_for(0, panels.count(), panels_at_once(B, panels.depth()), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) f(p, panels.begin(p), panels.end(p));
  });
}

template <class F>
void for_sentences(const Operands &x, const Fixed &fixed, F f) {
  const int64_t grain = std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, x.S() * x.D()));
  at::parallel_for(0, x.B(), grain, [&](int64_t begin, int64_t end) {
    const ProductTimer timer;
    for (int64_t b = begin; b < end; ++b) f(b, real_words(fixed, x.S(), b));
  });
}

Trace run_forward(const Operands &x, const Fixed &fixed) {
  const int64_t T = x.T(), B = x.B(), S = x.S(), D = x.D();
  const auto options = x.words.options();
  const auto L = static_cast<int64_t>(x.layers.size());
  const at::Tensor memory_rows = x.memory.view({B * S, D});
  Trace trace;
  trace.keys = at::mm(memory_rows, x.query).view({B, S, D});
  trace.values = at::mm(memory_rows, x.context_part().t()).view({B, S, D});
  trace.weights = at::zeros({T, B, S}, options);
  trace.out = at::empty({T + 1, B, D}, options);
  trace.out[0].zero_();
  const at::Tensor &out_mask = fixed.masks.back();
  if (out_mask.defined()) trace.tanh = at::empty({T, B, D}, options);

  std::vector<StepPanels> panels;
  std::vector<at::Tensor> biases;
  for (int64_t l = 0; l < L; ++l) {
    const Operands::Layer &w = x.layers[l];
    panels.push_back(StepPanels::of_gates({l ? w.w_ih : x.state_part(), w.w_hh}));
    biases.push_back(w.b_ih + w.b_hh);
    Trace::Layer layer;
    layer.gates = l ? at::empty({T, B, 4 * D}, options) : at::mm(x.words.view({T * B, x.E()}), x.words_part().t()).view({T, B, 4 * D});
    layer.h = at::empty({T + 1, B, D}, options);
    layer.c = at::empty({T + 1, B, D}, options);
    layer.h[0].copy_(w.h);
    layer.c[0].copy_(w.c);
    if (l + 1 < L && fixed.masks[l].defined()) layer.passed = at::empty({T, B, D}, options);
    trace.layers.push_back(layer);
  }
  const StepPanels mix = StepPanels::of_columns({x.query_part().t()});

  for (int64_t t = 0; t < T; ++t) {
    const float *below = data(trace.out, t);
    for (int64_t l = 0; l < L; ++l) {
      const Trace::Layer &layer = trace.layers[l];
      const LSTMStep step{t, B, D, nullptr, data(layer.gates, t), data(layer.c, t), data(layer.c, t + 1), data(layer.h, t + 1), nullptr, nullptr};
      const float *mask = layer.passed.defined() ? mask_at(fixed.masks[l], t) : nullptr;
      for_panels(panels[l], B, [&](int64_t p, int64_t begin, int64_t end) {
        if (l) clear_columns({B, D, begin, end}, 4, step.gates);
        panels[l].add(p, 0, below, step.gates, B);
        panels[l].add(p, 1, data(layer.h, t), step.gates, B);
        forward_units(step, data(biases[l]), begin, end);
        if (mask) mask_columns({B, D, begin, end}, step.out, mask, data(layer.passed, t));
      });
      below = mask ? data(layer.passed, t) : step.out;
    }
    const float *state = data(trace.layers.back().h, t + 1);
    float *next = data(trace.out, t + 1), *tanh = out_mask.defined() ? data(trace.tanh, t) : next;
    for_sentences(x, fixed, [&](int64_t b, int64_t words) {
      if (words > 0)
        attend_words(state + b * D, data(trace.keys, b), data(trace.values, b), 1, words, D, data(trace.weights, t) + b * S, tanh + b * D);
      else
        std::fill_n(tanh + b * D, D, 0.0f);
    });
    for_panels(mix, B, [&](int64_t p, int64_t begin, int64_t end) {
      mix.add(p, 0, state, tanh, B);
      tanh_columns({B, D, begin, end}, tanh);
      if (out_mask.defined()) mask_columns({B, D, begin, end}, tanh, mask_at(out_mask, t), next);
    });
  }
  return trace;
}

// Gradients that steps hand back, after the loop over them: of what goes into the
// hyperbolic tangent [T,B,D] and of attention's scores [T,B,S]; those of gates have taken
// their places; of the cells before the first step, by layer.
struct Backward {
  at::Tensor mixed, scores;
  std::vector<at::Tensor> c;
};

Backward run_backward(const Operands &x, const Fixed &fixed, const Trace &trace, const at::Tensor &gout) {
  const int64_t T = x.T(), B = x.B(), S = x.S(), D = x.D();
  const auto options = x.words.options();
  const auto L = static_cast<int64_t>(x.layers.size());
  const at::Tensor &out_mask = fixed.masks.back();
  Backward back{at::empty({T, B, D}, options), at::zeros({T, B, S}, options), {}};
  std::vector<at::Tensor> later;  // by layer: the gradient of h from the step after
  std::vector<StepPanels> panels;  // by layer: from what reads h in the same step, and in the next
  for (int64_t l = 0; l < L; ++l) {
    panels.push_back(StepPanels::of_columns({l + 1 < L ? x.layers[l + 1].w_ih : x.query_part(), x.layers[l].w_hh}));
    later.push_back(at::zeros({B, D}, options));
    back.c.push_back(at::zeros({B, D}, options));
  }
  const StepPanels fed = StepPanels::of_columns({x.state_part()});
  const at::Tensor above = at::empty({B, D}, options);  // the gradient of h from the same step

  for (int64_t t = T; t-- > 0;) {
    float *mixed = data(back.mixed, t);
    const float *tanh = out_mask.defined() ? data(trace.tanh, t) : data(trace.out, t + 1);
    for_panels(fed, B, [&](int64_t p, int64_t begin, int64_t end) {
      clear_columns({B, D, begin, end}, 1, mixed);
      if (t + 1 < T) fed.add(p, 0, data(trace.layers[0].gates, t + 1), mixed, B);
      tanh_columns_back({B, D, begin, end}, data(gout, t), mask_at(out_mask, t), tanh, mixed);
    });
    for_sentences(x, fixed, [&](int64_t b, int64_t words) {
      float *state = data(above) + b * D;
      if (words > 0)
        attend_words_back(mixed + b * D, data(trace.keys, b), data(trace.values, b), data(trace.weights, t) + b * S, words, D, data(back.scores, t) + b * S, state);
      else
        std::fill_n(state, D, 0.0f);
    });
    for (int64_t l = L; l-- > 0;) {
      const Trace::Layer &layer = trace.layers[l];
      const LSTMStep step{t, B, D, nullptr, data(layer.gates, t), data(layer.c, t), data(layer.c, t + 1), nullptr, nullptr, nullptr};
      const float *mask = layer.passed.defined() ? mask_at(fixed.masks[l], t) : nullptr;
      const float *reader = l + 1 < L ? data(trace.layers[l + 1].gates, t) : mixed;
      for_panels(panels[l], B, [&](int64_t p, int64_t begin, int64_t end) {
        if (l + 1 < L) clear_columns({B, D, begin, end}, 1, data(above));
        panels[l].add(p, 0, reader, data(above), B);
        if (mask) mask_columns({B, D, begin, end}, data(above), mask, data(above));
        if (t + 1 < T) panels[l].add(p, 1, data(layer.gates, t + 1), data(later[l]), B);
        backward_units(step, data(above), data(later[l]), data(back.c[l]), begin, end);
      });
    }
  }
  return back;
}

class Attentional : public Operator {
 public:
  explicit Attentional(Fixed fixed) : fixed_(std::move(fixed)) {}

  Tensors forward(const Tensors &list) override {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    at::AutoDispatchBelowADInplaceOrView plain;  // the result is no view of what is kept
    const Operands x(list);
    const Trace trace = run_forward(x, fixed_);
    Tensors kept = list;
    kept.insert(kept.end(), {trace.keys, trace.values, trace.weights, trace.tanh, trace.out});
    for (const Trace::Layer &l : trace.layers) kept.insert(kept.end(), {l.gates, l.h, l.c, l.passed});
    const at::Tensor out = trace.out.narrow(0, 1, x.T());
    kept.push_back(out);  // so that a change of it is refused: trace.out has the memory, but another version
    save_for_backward(kept);
    operands_ = list.size();
    return {out};
  }

  Tensors backward(const Tensors &grads) override {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const Tensors saved = saved_tensors();
    const Operands x(at::TensorList(saved).slice(0, operands_));
    auto next = saved.begin() + static_cast<std::ptrdiff_t>(operands_);
    Trace trace{*next, next[1], next[2], next[3], next[4], {}};
    next += kOfTrace;
    for (size_t l = 0; l < x.layers.size(); ++l, next += kOfTraceLayer) trace.layers.push_back({*next, next[1], next[2], next[3]});
    const Backward back = run_backward(x, fixed_, trace, grads[0].contiguous());

    Tensors gradients(operands_);
    const int64_t T = x.T(), B = x.B(), S = x.S(), D = x.D(), rows = T * B;
    const at::Tensor mixed_rows = back.mixed.view({rows, D}), state = trace.layers.back().h.narrow(0, 1, T), memory_rows = x.memory.view({B * S, D});
    const at::Tensor gkeys = at::bmm(back.scores.permute({1, 2, 0}), state.transpose(0, 1)).view({B * S, D});
    const at::Tensor gvalues = at::bmm(trace.weights.permute({1, 2, 0}), back.mixed.transpose(0, 1)).view({B * S, D});
    if (needs_input_grad(1)) gradients[1] = at::mm(gkeys, x.query.t()).addmm_(gvalues, x.context_part()).view({B, S, D});
    if (needs_input_grad(2)) gradients[2] = at::mm(memory_rows.t(), gkeys);
    if (needs_input_grad(3)) gradients[3] = at::cat({at::mm(gvalues.t(), memory_rows), at::mm(mixed_rows.t(), state.reshape({rows, D}))}, 1);
    if (needs_input_grad(0)) gradients[0] = at::mm(trace.layers[0].gates.view({rows, 4 * D}), x.words_part()).view({T, B, x.E()});
    for (size_t l = 0; l < x.layers.size(); ++l) {
      const Trace::Layer &layer = trace.layers[l];
      const at::Tensor gates = layer.gates.view({rows, 4 * D});
      const size_t i = 4 + l * Operands::kOfLayer;
      if (needs_input_grad(i)) {
        at::Tensor in;
        if (l == 0)
          in = at::cat({x.words, trace.out.narrow(0, 0, T)}, 2);
        else
          in = trace.layers[l - 1].passed.defined() ? trace.layers[l - 1].passed : trace.layers[l - 1].h.narrow(0, 1, T);
        gradients[i] = at::mm(gates.t(), in.reshape({rows, -1}));
      }
      if (needs_input_grad(i + 1)) gradients[i + 1] = at::mm(gates.t(), layer.h.narrow(0, 0, T).reshape({rows, D}));
      if (needs_input_grad(i + 2) || needs_input_grad(i + 3)) gradients[i + 2] = gradients[i + 3] = bias_gradient(gates);
      if (needs_input_grad(i + 4)) gradients[i + 4] = at::mm(layer.gates[0], x.layers[l].w_hh);
      gradients[i + 5] = back.c[l];
    }
    return gradients;
  }

 private:
  Fixed fixed_;
  size_t operands_ = 0;
};

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_attentional(ap_tensor *operands, int layers, ap_tensor *masks, const int64_t *lengths, ap_tensor *out) {
  return guard([&] {
    Tensors list;
    for (size_t i = 0; i < 4 + layers * Operands::kOfLayer; ++i) list.push_back(get(operands[i]));
    Fixed fixed;
    for (int l = 0; l < layers; ++l) fixed.masks.push_back(masks[l] ? get(masks[l]).detach().contiguous() : at::Tensor());
    if (lengths) fixed.lengths = at::from_blob(const_cast<int64_t *>(lengths), {list[0].size(1)}, at::kLong).clone();
    for (const at::Tensor &mask : fixed.masks) check_together(list[0], mask);
    *out = wrap(recorded<Attentional>(list, std::move(fixed))[0]);
  });
}
