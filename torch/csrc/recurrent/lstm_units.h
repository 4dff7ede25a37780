// The elementwise part of an LSTM's step, which follows the products of some units
// while their sums are at hand.
//
// Legend: B columns, H width.
#pragma once

#include <cstdint>

namespace ap {

// One step of a layer.
struct LSTMStep {
  int64_t t, B, H;
  const int64_t *lengths;  // steps of each column, or null
  float *gates;            // [B,4H]: input, forget, cell and output gate
  const float *c_before;   // [B,H], and so are the others
  float *c, *out;
  const float *h_before;  // with lengths: the state before the step
  float *h_after;         // and where the state after it goes
};

// Units [begin, end) forwards: gates hold the products, and become the gates after
// their functions.
void forward_units(const LSTMStep &s, const float *bias_4H, int64_t begin, int64_t end);

// And backwards, for the gradients gout of the output and gh of the state from later
// steps: turns gates into the gradients of what went into their functions and gc from
// the gradient of c_t into that of c_{t-1}, and empties gh.
void backward_units(const LSTMStep &s, const float *gout_BH, float *gh_BH, float *gc_BH, int64_t begin, int64_t end);

}  // namespace ap
