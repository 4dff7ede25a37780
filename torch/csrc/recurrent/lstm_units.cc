#include "lstm_units.h"

#include <algorithm>

#include "gates.h"
#include "devices/isa.h"

namespace ap {
namespace {

AP_KERNEL(void, forward_code, const LSTMStep &s, const float *bias, int64_t begin, int64_t end) {
  for (int64_t b = 0; b < s.B; ++b) {
    const int64_t at = b * s.H;
    const float *c_before = s.c_before + at;
    float *i = s.gates + 4 * at, *f = i + s.H, *g = f + s.H, *o = g + s.H, *c = s.c + at, *h = s.out + at;
    if (s.lengths && s.t >= s.lengths[b]) {
      for (int64_t j = begin; j < end; ++j) {
        c[j] = c_before[j];
        h[j] = 0;
        s.h_after[at + j] = s.h_before[at + j];
      }
      continue;
    }
    const float *bi = bias, *bf = bi + s.H, *bg = bf + s.H, *bo = bg + s.H;
#pragma omp simd
    for (int64_t j = begin; j < end; ++j) {
      i[j] = logistic(i[j] + bi[j]);
      f[j] = logistic(f[j] + bf[j]);
      g[j] = hyperbolic_tangent(g[j] + bg[j]);
      o[j] = logistic(o[j] + bo[j]);
      c[j] = f[j] * c_before[j] + i[j] * g[j];
      h[j] = o[j] * hyperbolic_tangent(c[j]);
    }
    if (s.lengths) std::copy(h + begin, h + end, s.h_after + at + begin);
  }
}

AP_KERNEL(void, backward_code, const LSTMStep &s, const float *gout, float *gh_BH, float *gc_BH, int64_t begin, int64_t end) {
  for (int64_t b = 0; b < s.B; ++b) {
    const int64_t at = b * s.H;
    const float *c = s.c + at, *c_before = s.c_before + at, *go = gout + at;
    float *i = s.gates + 4 * at, *f = i + s.H, *g = f + s.H, *o = g + s.H, *gh = gh_BH + at, *gc = gc_BH + at;
    if (s.lengths && s.t >= s.lengths[b]) {  // the state passed through
      for (int64_t j = begin; j < end; ++j) i[j] = f[j] = g[j] = o[j] = 0;
      continue;
    }
#pragma omp simd
    for (int64_t j = begin; j < end; ++j) {
      const float ti = i[j], tf = f[j], tg = g[j], to = o[j], tanh_c = hyperbolic_tangent(c[j]);
      const float dh = go[j] + gh[j], dc = gc[j] + dh * to * (1 - tanh_c * tanh_c);
      i[j] = dc * tg * ti * (1 - ti);
      f[j] = dc * c_before[j] * tf * (1 - tf);
      g[j] = dc * ti * (1 - tg * tg);
      o[j] = dh * tanh_c * to * (1 - to);
      gc[j] = dc * tf;
      gh[j] = 0;
    }
  }
}

}  // namespace

void forward_units(const LSTMStep &s, const float *bias_4H, int64_t begin, int64_t end) { forward_code(s, bias_4H, begin, end); }

void backward_units(const LSTMStep &s, const float *gout_BH, float *gh_BH, float *gc_BH, int64_t begin, int64_t end) {
  backward_code(s, gout_BH, gh_BH, gc_BH, begin, end);
}

}  // namespace ap
