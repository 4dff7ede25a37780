// An LSTM layer over all time steps:
//   (i, f, g, o) = x_t W_ih^T + b_ih + h_{t-1} W_hh^T + b_hh
//   c_t = s(f) * c_{t-1} + s(i) * tanh(g),   h_t = s(o) * tanh(c_t),   s the logistic function
// where elements of W_hh may be dropped by one mask for all steps and columns.
//
// Products are in bfloat16 under autocast; all else is in float32.
//
// The products with W_ih are one for all steps. A step is the product with W_hh,
// packed into panels once for all of them (step_panels.h), and the gates, which follow
// each panel while its sums are at hand. Backwards it is the same; the weights'
// gradients are one product each. The mask is applied where W_hh is packed and
// drawn again for its gradient, so no dropped copy of W_hh is kept.
//
// Results and gradients have the same bits for any number of threads: sums of ours
// run over k in order or are cut at fixed places, and MKL's products are strict
// (mkl_dispatch.cc).
//
// Kept for the backward pass: the gates after their functions [T,B,4H], which it
// turns into their gradients in place, and the cells [T,B,H].
//
// Legend: T time steps, B columns, I input width, H width.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>

#include <algorithm>
#include <array>

#include "api_lstm.h"
#include "border/common.h"
#include "border/operator.h"
#include "devices/api_isa.h"
#include "operators/dropout.h"
#include "bias_gradient.h"
#include "flat_weights.h"
#include "lstm_units.h"
#include "products/products.h"
#include "products/step_panels.h"
#include "products/thin.h"

namespace ap {
namespace {

// W_hh as the steps multiply by it.
class Recurrent {
 public:
  Recurrent(const at::Tensor &weight, int64_t T, int64_t B, Drop drop, bool backward, bool half)
      : path_(step_path(T, B)), H_(weight.size(1)), units_(backward ? StepPanels::kColumns : StepPanels::kUnits), backward_(backward) {
    half_ = half && path_ == StepPath::panels && ap_has_bfloat16();
    if (half_) pairs_.resize(B * (((backward ? 4 * H_ : H_) + 1) / 2));
    if (path_ != StepPath::panels)
      plain_ = drop.p > 0 ? apply_dropout(weight, drop.p, drop.key) : weight;
    else
      panels_ = backward ? StepPanels::of_columns({weight}, drop, half_) : StepPanels::of_gates({weight}, drop, half_);
  }

  // Adds the product of a [B,H or 4H] to c [B,4H or H], and calls after(begin, end)
  // for units as soon as their sums are there. A null a adds nothing.
  template <class F>
  void step(const float *a, float *c, int64_t B, F after) {
    const int64_t depth = backward_ ? 4 * H_ : H_, width = backward_ ? H_ : 4 * H_;
    const bool packed = a && path_ == StepPath::panels, thin = a && path_ == StepPath::thin;
    if (a && !packed && !thin) {
      const at::Tensor a_t = at::from_blob(const_cast<float *>(a), {B, depth}, plain_.options());
      at::Tensor c_t = at::from_blob(c, {B, width}, plain_.options());
      at::addmm_out(c_t, c_t, a_t, backward_ ? plain_ : plain_.t());
    }
    if (a && half_) {
      pair_up(a, depth, B, pairs_.data());
      a = pairs_.data();
    }
    at::parallel_for(0, (H_ + units_ - 1) / units_, panels_at_once(B, packed || thin ? depth : 0), [&](int64_t begin, int64_t end) {
      if (thin && backward_) {
        const int64_t j = begin * units_;
        const ProductTimer timer;
        add_thin_sums(a, plain_.const_data_ptr<float>() + j, H_, depth, c + j, width, B, std::min(end * units_, H_) - j);
      }
      for (int64_t p = begin; p < end; ++p) {
        const int64_t j = p * units_, n = std::min(units_, H_ - j);
        if (thin && !backward_) {
          const ProductTimer timer;
          for (int64_t row = j; row < width; row += H_) add_thin_dots(a, plain_.const_data_ptr<float>() + row * H_, H_, c + row, width, B, n);
        }
        if (packed) panels_.add(p, 0, a, c, B);
        after(j, j + n);
      }
    });
  }

 private:
  StepPath path_;
  int64_t H_, units_;  // units of a panel
  bool backward_, half_;      // half: panels are of bfloat16
  std::vector<float> pairs_;  // what the present step multiplies by them
  StepPanels panels_;         // one of them
  at::Tensor plain_;
};

// What the input adds to the gates, [T,B,4H] of x [T,B,I]. A node of its own: the gradient of W_hh is complete, and may
// be summed over processes, while this one still computes those of x and W_ih.
class InputGates : public Operator {
 public:
  explicit InputGates(bool half) : half_(half) {}

  Tensors forward(const Tensors &operands) override {
    const bool thin = operands[0].size(0) * operands[0].size(1) <= kThin;
    const at::ScalarType type = half_ && !thin ? at::kBFloat16 : at::kFloat;
    const at::Tensor x = operands[0].contiguous().to(type), w_ih = operands[1].to(type), rows = x.view({x.size(0) * x.size(1), x.size(2)});
    save_for_backward({x, w_ih});
    const at::Tensor gates = thin ? thin_product(rows, w_ih.contiguous()) : at::mm(rows, w_ih.t()).to(at::kFloat);
    return {gates.view({x.size(0), x.size(1), w_ih.size(0)})};
  }

  Tensors backward(const Tensors &grads) override {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const Tensors saved = saved_tensors();
    const at::Tensor &x = saved[0], &w_ih = saved[1];
    const int64_t steps = x.size(0) * x.size(1);
    const at::Tensor rows = grads[0].view({steps, w_ih.size(0)}).to(w_ih.scalar_type());
    at::Tensor gx, gw_ih;
    if (needs_input_grad(0)) gx = at::mm(rows, w_ih).view(x.sizes()).to(at::kFloat);
    if (needs_input_grad(1)) gw_ih = at::mm(rows.t(), x.view({steps, x.size(2)})).to(at::kFloat);
    return {gx, gw_ih};
  }

 private:
  bool half_;
};

class LSTM : public Operator {
 public:
  // lengths: of the columns, or undefined, which stands for all steps.
  LSTM(const at::Tensor &lengths, bool reverse, bool half, Drop drop) : lengths_(lengths), reverse_(reverse), half_(half), drop_(drop) {}

  // The first operand is what InputGates gave, and is overwritten.
  Tensors forward(const Tensors &operands) override {
    at::Tensor gates = operands[0];
    const at::Tensor h0 = operands[1].contiguous(), c0 = operands[2].contiguous(), w_hh = operands[3].contiguous();
    const int64_t T = gates.size(0), B = gates.size(1), H = w_hh.size(1);
    const at::Tensor bias = operands[4] + operands[5];
    at::Tensor c = at::empty({T, B, H}, gates.options()), out = at::empty({T, B, H}, gates.options());
    at::Tensor before;  // with lengths, h before each step: it is not the output of another one
    at::Tensor h_n;
    if (lengths_.defined()) {
      before = at::empty({T, B, H}, gates.options());
      h_n = at::empty({B, H}, gates.options());
      if (T > 0) before[reverse_ ? T - 1 : 0].copy_(h0);
    }
    Recurrent recurrent(w_hh, T, B, drop_, false, half_);
    const int64_t size = B * H;
    for (int64_t k = 0; k < T; ++k) {
      const int64_t t = reverse_ ? T - 1 - k : k, last = reverse_ ? t + 1 : t - 1, next = reverse_ ? t - 1 : t + 1;
      LSTMStep s{t, B, H, nullptr, gates.mutable_data_ptr<float>() + 4 * t * size, k ? c.const_data_ptr<float>() + last * size : c0.const_data_ptr<float>(),
             c.mutable_data_ptr<float>() + t * size, out.mutable_data_ptr<float>() + t * size, nullptr, nullptr};
      const float *h = k ? out.const_data_ptr<float>() + last * size : h0.const_data_ptr<float>();
      if (lengths_.defined()) {
        s.lengths = lengths_.const_data_ptr<int64_t>();
        h = s.h_before = before.const_data_ptr<float>() + t * size;
        s.h_after = k + 1 < T ? before.mutable_data_ptr<float>() + next * size : h_n.mutable_data_ptr<float>();
      }
      recurrent.step(h, s.gates, B, [&](int64_t begin, int64_t end) { forward_units(s, bias.const_data_ptr<float>(), begin, end); });
    }
    const int64_t end = reverse_ ? 0 : T - 1;
    if (T == 0)
      h_n = h0.clone();
    else if (!h_n.defined())
      h_n = out[end].clone();
    save_for_backward({h0, c0, w_hh, out, c, gates, before});
    return {out, h_n, T > 0 ? c[end].clone() : c0.clone()};
  }

  Tensors backward(const Tensors &grads) override {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const Tensors saved = saved_tensors();
    const at::Tensor &h0 = saved[0], &c0 = saved[1], &w_hh = saved[2], &out = saved[3], &c = saved[4], &before = saved[6];
    at::Tensor gates = saved[5].detach();
    const int64_t T = gates.size(0), B = gates.size(1), H = w_hh.size(1), size = B * H;
    const at::Tensor gout = grads[0].contiguous();
    at::Tensor gh = grads[1].clone(at::MemoryFormat::Contiguous), gc = grads[2].clone(at::MemoryFormat::Contiguous);
    {
      Recurrent recurrent(w_hh, T, B, drop_, true, half_);
      const float *later = nullptr;  // gradients of the gates of the step after
      for (int64_t k = T; k-- > 0;) {
        const int64_t t = reverse_ ? T - 1 - k : k, last = reverse_ ? t + 1 : t - 1;
        const LSTMStep s{t, B, H, lengths_.defined() ? lengths_.const_data_ptr<int64_t>() : nullptr, gates.mutable_data_ptr<float>() + 4 * t * size,
                     k ? c.const_data_ptr<float>() + last * size : c0.const_data_ptr<float>(),
                     const_cast<float *>(c.const_data_ptr<float>()) + t * size, nullptr, nullptr, nullptr};
        recurrent.step(later, gh.mutable_data_ptr<float>(), B, [&](int64_t begin, int64_t end) {
          backward_units(s, gout.const_data_ptr<float>() + t * size, gh.mutable_data_ptr<float>(), gc.mutable_data_ptr<float>(), begin, end);
        });
        later = s.gates;
      }
      if (later && needs_input_grad(1)) recurrent.step(later, gh.mutable_data_ptr<float>(), B, [](int64_t, int64_t) {});
    }
    const at::Tensor rows = gates.view({T * B, 4 * H});
    at::Tensor gw_hh, gbias;
    if (needs_input_grad(3)) {
      if (before.defined() || T == 0) {
        gw_hh = at::mm(rows.t(), T > 0 ? before.view({T * B, H}) : out.view({0, H}));
      } else {
        // h before a step is the output of the one before it, and h0 at the first.
        const at::ScalarType type = half_ ? at::kBFloat16 : at::kFloat;
        const at::Tensor later = gates.narrow(0, reverse_ ? 0 : 1, T - 1).to(type), earlier = out.narrow(0, reverse_ ? 1 : 0, T - 1).to(type);
        gw_hh = at::mm(later.reshape({-1, 4 * H}).t(), earlier.reshape({-1, H})).to(at::kFloat);
        gw_hh.addmm_(gates[reverse_ ? T - 1 : 0].t(), h0);
      }
      if (drop_.p > 0) apply_dropout_(gw_hh, drop_.p, drop_.key);
    }
    if (needs_input_grad(4) || needs_input_grad(5)) gbias = bias_gradient(rows);
    return {gates, gh, gc, gw_hh, gbias, gbias};
  }

 private:
  at::Tensor lengths_;
  bool reverse_, half_;
  Drop drop_;
};

// libtorch's layer (cuDNN's on CUDA).
Tensors library_layer(at::Tensor x, const at::Tensor &h, const at::Tensor &c, const at::Tensor &w_ih, const at::Tensor &w_hh,
                      const at::Tensor &b_ih, const at::Tensor &b_hh, bool reverse) {
  if (reverse) x = x.flip(0);
  auto [out, h_n, c_n] = at::lstm(x, {h.contiguous().unsqueeze(0), c.contiguous().unsqueeze(0)}, flat_weights(w_ih, w_hh, b_ih, b_hh), true, 1, 0.0, true,
                                  false, false);
  return {reverse ? out.flip(0) : out, h_n.squeeze(0), c_n.squeeze(0)};
}

// The same where column b has lengths[b] steps: libtorch's layer for packed sequences, which takes the longest columns
// first and of each step only those that have it. Columns without any keep their state. The orders are known on the
// host, so nothing waits for the device.
Tensors packed_layer(const at::Tensor &x, const at::Tensor &h, const at::Tensor &c, const at::Tensor &w_ih, const at::Tensor &w_hh,
                     const at::Tensor &b_ih, const at::Tensor &b_hh, const int64_t *lengths, bool reverse) {
  const int64_t T = x.size(0), B = x.size(1), H = w_hh.size(1);
  std::vector<int64_t> order, steps, places;
  for (int64_t b = 0; b < B; ++b)
    if (lengths[b] > 0) order.push_back(b);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return lengths[a] > lengths[b]; });
  for (int64_t t = 0; t < T; ++t) {
    const size_t before = places.size();
    for (const int64_t b : order)
      if (t < lengths[b]) places.push_back((reverse ? lengths[b] - 1 - t : t) * B + b);
    if (places.size() == before) break;
    steps.push_back(static_cast<int64_t>(places.size() - before));
  }
  const at::Tensor none = at::zeros({T * B, H}, x.options());
  if (order.empty()) return {none.view({T, B, H}), h, c};
  const auto index = [&](const std::vector<int64_t> &list) { return moved(at::tensor(list, at::kLong), x.device(), at::kLong); };
  const at::Tensor order_K = index(order), places_P = index(places);
  const auto start = [&](const at::Tensor &state) { return state.index_select(0, order_K).unsqueeze(0); };
  const auto [out_PH, h_n, c_n] = at::lstm(x.reshape({T * B, -1}).index_select(0, places_P), at::tensor(steps, at::kLong), {start(h), start(c)},
                                           flat_weights(w_ih, w_hh, b_ih, b_hh), true, 1, 0.0, true, false);
  return {none.index_copy(0, places_P, out_PH).view({T, B, H}), h.index_copy(0, order_K, h_n.squeeze(0)), c.index_copy(0, order_K, c_n.squeeze(0))};
}

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" const char *ap_lstm_path(int64_t steps, int64_t columns) {
  switch (step_path(steps, columns)) {
    case StepPath::thin: return "thin";
    case StepPath::library: return "library";
    default: return "panels";
  }
}

extern "C" ap_error ap_lstm(ap_tensor x, ap_tensor h, ap_tensor c, ap_tensor weight_ih, ap_tensor weight_hh, ap_tensor bias_ih, ap_tensor bias_hh,
                            const int64_t *lengths, int n, bool reverse, double drop, uint64_t seed, uint64_t offset, ap_tensor *out, ap_tensor *h_n,
                            ap_tensor *c_n) {
  return guard([&] {
    check_dropout(drop);
    const at::Tensor &X = get(x), &w_ih = get(weight_ih), &w_hh = get(weight_hh), &b_ih = get(bias_ih), &b_hh = get(bias_hh);
    TORCH_CHECK(X.dim() == 3 && w_hh.dim() == 2, "an input of shape ", X.sizes(), " is not [steps, columns, width]");
    const int64_t B = X.size(1), H = w_hh.size(1);
    const std::array<int64_t, 2> state = {B, H}, input = {4 * H, X.size(2)};
    TORCH_CHECK(w_ih.sizes() == at::IntArrayRef(input) && w_hh.size(0) == 4 * H && b_ih.dim() == 1 && b_ih.numel() == 4 * H &&
                    b_hh.sizes() == b_ih.sizes(),
                "weights of shapes ", w_ih.sizes(), " and ", w_hh.sizes(), " with biases of shapes ", b_ih.sizes(), " and ", b_hh.sizes(),
                " do not fit an input of width ", X.size(2));
    TORCH_CHECK(get(h).sizes() == at::IntArrayRef(state) && get(c).sizes() == get(h).sizes(), "a state of shapes ", get(h).sizes(), " and ", get(c).sizes(),
                " does not fit ", B, " columns of width ", H);
    // A layer's states are of the type of its weights: rounded at each step, a state would lose what it carries.
    const bool half = at::autocast::is_autocast_enabled(at::kCPU);
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    Tensors results;
    bool fused = X.is_cpu();
    for (const at::Tensor &operand : {X, get(h), get(c), w_ih, w_hh, b_ih, b_hh}) fused = fused && operand.scalar_type() == at::kFloat;
    for (int64_t b = 0; lengths && b < B; ++b)
      TORCH_CHECK(lengths[b] >= 0 && lengths[b] <= X.size(0), "a column has ", lengths[b], " steps of ", X.size(0));
    if (fused) {
      at::Tensor steps;
      if (lengths) steps = at::from_blob(const_cast<int64_t *>(lengths), {n}, at::kLong).clone();
      const at::Tensor gates = recorded<InputGates>({X, w_ih}, half)[0];
      results = recorded<LSTM>({gates, get(h), get(c), w_hh, b_ih, b_hh}, steps, reverse, half, Drop{drop, DrawKey(seed, offset)});
    } else {
      TORCH_CHECK(drop == 0, "dropped weights need a float32 layer on the CPU");
      results = lengths ? packed_layer(X, get(h), get(c), w_ih, w_hh, b_ih, b_hh, lengths, reverse)
                        : library_layer(X, get(h), get(c), w_ih, w_hh, b_ih, b_hh, reverse);
    }
    *out = wrap(results[0]);
    *h_n = wrap(results[1]);
    *c_n = wrap(results[2]);
  });
}

extern "C" ap_error ap_lstm_cell(ap_tensor gates, ap_tensor more, ap_tensor c, ap_tensor *h_n, ap_tensor *c_n) {
  return guard([&] {
    // As in ap_lstm; autocasting would have libtorch round a state at each step.
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const auto [h_BH, c_BH, kept] = at::_thnn_fused_lstm_cell(get(gates), get(more), get(c));
    *h_n = wrap(h_BH);
    *c_n = wrap(c_BH);
  });
}
