// Losses between hidden states and frozen target vectors, forward and gradient in
// one pass over the rows.
//
// A row h_M with the unit target e_M (and, for the margin, a wrong one n_M) enters
// every loss by few numbers: kappa = |h|, h.e, h.n and |h - e|^2. And every gradient
// is a h + b e + c n. So a row's loss is scalar work in float64, whatever the type of
// the tensors, and nothing of size N x V exists.
//
// Legend: N rows, M components of a vector, V vocabulary.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "api_continuous_loss.h"
#include "border/common.h"
#include "border/operator.h"
#include "continuous_rows.h"
#include "devices/isa.h"
#include "vmf.h"

namespace ap {
namespace {

struct Row {
  double kappa, dot, wrong, distance2;  // |h|, h.e, h.n, |h - e|^2
  bool has_wrong;
};

struct RowTerms {
  double loss, nll;             // nll is the clean one
  double hidden, target, wrong;  // the gradient is hidden h + target e + wrong n
};

// digamma(x) for x > 0, to 1e-15 of max(1, |digamma|).
double digamma(double x) {
  double shift = 0;
  for (; x < 10; ++x) shift -= 1 / x;
  const double y = 1 / (x * x);
  return shift + std::log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132)))));
}

// lgamma(a) - lgamma(a + b) for a, b > 0, without the difference of large numbers.
double log_gamma_quotient(double a, double b) {
  double shift = 0;  // log of Gamma(x)/Gamma(x + b) over that at x + 1: log((x + b)/x)
  for (; a < 20; ++a) shift += std::log1p(b / a);
  const auto tail = [](double x) {
    const double y = 1 / (x * x);
    return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680)))) / x;
  };
  return shift - (a - 0.5) * std::log1p(b / a) - b * std::log(a + b) + b + tail(a) - tail(a + b);
}

class Loss {
 public:
  Loss(int kind, int64_t m, double lambda1, double lambda2)
      : kind_(kind), m_(static_cast<double>(m)), lambda1_(lambda1), lambda2_(lambda2), normaliser_(m) {}

  RowTerms operator()(const Row &r) const {
    switch (kind_) {
      case kPowerSpherical: return power_spherical(r);
      case kSquaredL2: return {r.distance2, r.distance2, 2, -2, 0};
      case kRootedL2: {
        const double distance = r.kappa > 1e100 ? r.kappa : std::sqrt(r.distance2), factor = distance > 0 ? 1 / distance : 0;
        return {distance, distance, factor, -factor, 0};
      }
      case kCosine: {
        const double c = cosine(r, r.dot);
        return with_cosine({1 - c, 1 - c, 0, 0, 0}, r, c, -1);
      }
      case kMaxMargin: return max_margin(r);
    }
    return von_mises_fisher(r);
  }

 private:
  // NaN counts as a direction, so that it shows in the loss.
  static bool has_direction(const Row &r) { return !(r.kappa <= kNoDirection); }

  static double cosine(const Row &r, double dot) { return has_direction(r) ? dot / r.kappa : 0; }

  // Adds the gradient of factor times the target's cosine c: (e - c u)/kappa.
  static RowTerms with_cosine(RowTerms t, const Row &r, double c, double factor) {
    if (has_direction(r)) {
      t.target += factor / r.kappa;
      t.hidden -= factor * c / (r.kappa * r.kappa);
    }
    return t;
  }

  RowTerms von_mises_fisher(const Row &r) const {
    const auto value = normaliser_(r.kappa);
    const double inverse = r.kappa > 1e-150 ? 1 / r.kappa : 0;  // times h this is u, and 0 where there is no u
    RowTerms t = {0, -value.log_c - r.dot, value.slope, 0, 0};
    if (kind_ == kLog1p) {
      const double c = r.dot * inverse, log1p = std::log1p(r.kappa), falloff = 1 / (1 + r.kappa);
      t.loss = -value.log_c + log1p * (lambda1_ - c);
      t.hidden += ((lambda1_ - c) * falloff + c * log1p * inverse) * inverse;
      t.target = inverse > 0 ? -log1p * inverse : -1;
      return t;
    }
    const double lambda1 = kind_ == kReg1 || kind_ == kReg1Reg2 ? lambda1_ : 0, lambda2 = kind_ == kReg2 || kind_ == kReg1Reg2 ? lambda2_ : 1;
    t.loss = -value.log_c - lambda2 * r.dot + (lambda1 == 0 ? 0 : lambda1 * r.kappa);
    t.hidden += lambda1 * inverse;
    t.target = -lambda2;
    return t;
  }

  // Density (De Cao and Aziz 2020): (1 + c)^kappa Gamma(a + b)/(2^(a+b) pi^b Gamma(a)), b = (m-1)/2, a = b + kappa.
  RowTerms power_spherical(const Row &r) const {
    const double b = 0.5 * (m_ - 1), a = b + r.kappa, inverse = r.kappa > 1e-150 ? 1 / r.kappa : 0;
    const double c = r.dot * inverse, plus = std::max(1 + c, kAntipode);
    const double constant = b > 0 ? log_gamma_quotient(a, b) : 0, slope = b > 0 ? digamma(a) - digamma(a + b) : 0;
    constexpr double log2 = 0.69314718055994530942, log_pi = 1.1447298858494001741;
    const double nll = (2 * b + r.kappa) * log2 + b * log_pi + constant - r.kappa * std::log(plus);
    // -kappa log(1 + c) falls along (e - c u)/(1 + c), and the density's constant and log(1 + c) act along u.
    const double along = inverse > 0 ? (log2 + slope - std::log(plus)) * inverse : 0;
    const double turn = 1 + c > kAntipode ? 1 / plus : 0;
    return {nll, nll, along + turn * c * inverse, -turn, 0};
  }

  RowTerms max_margin(const Row &r) const {
    const double c = cosine(r, r.dot), other = cosine(r, r.wrong), margin = lambda1_ + other - c;
    RowTerms t = {0, 1 - c, 0, 0, 0};
    if (!r.has_wrong || margin <= 0) return t;
    t.loss = margin;
    t = with_cosine(t, r, c, -1);
    if (has_direction(r)) {
      t.wrong = 1 / r.kappa;
      t.hidden -= other / (r.kappa * r.kappa);
    }
    return t;
  }

  const int kind_;
  const double m_, lambda1_, lambda2_;
  const VMFNormaliser normaliser_;
};

template <class T>
[[gnu::always_inline]] inline void products_of(const T *h, const T *e, const T *n, int64_t M, double *square, double *dot, double *wrong,
                                               double *distance2) {
  double hh = 0, he = 0, hn = 0, dd = 0;
#pragma omp simd reduction(+ : hh, he, hn, dd)
  for (int64_t i = 0; i < M; ++i) {
    const double x = h[i], y = e[i], difference = x - y;
    hh += x * x;
    he += x * y;
    hn += x * n[i];
    dd += difference * difference;
  }
  *square = hh, *dot = he, *wrong = hn, *distance2 = dd;
}

AP_KERNEL(void, products_float, const float *h, const float *e, const float *n, int64_t M, double *square, double *dot, double *wrong,
          double *distance2) {
  products_of(h, e, n, M, square, dot, wrong, distance2);
}

AP_KERNEL(void, products_double, const double *h, const double *e, const double *n, int64_t M, double *square, double *dot, double *wrong,
          double *distance2) {
  products_of(h, e, n, M, square, dot, wrong, distance2);
}

// |h| where the sum of its squares leaves the range of float64.
template <class T>
double scaled_norm(const T *h, int64_t M, double square) {
  if (std::isnan(square)) return square;
  double top = 0, sum = 0;
  for (int64_t i = 0; i < M; ++i) top = std::max(top, std::fabs(static_cast<double>(h[i])));
  if (top == 0 || !(top <= std::numeric_limits<double>::max())) return top;
  for (int64_t i = 0; i < M; ++i) sum += (h[i] / top) * (h[i] / top);
  return top * std::sqrt(sum);
}

template <class T>
[[gnu::always_inline]] inline void combination(const T *h, const T *e, const T *n, int64_t M, double a, double b, double c, T *out) {
#pragma omp simd
  for (int64_t i = 0; i < M; ++i) out[i] = static_cast<T>(a * h[i] + b * e[i] + c * n[i]);
}

AP_KERNEL(void, combine_float, const float *h, const float *e, const float *n, int64_t M, double a, double b, double c, float *out) {
  combination(h, e, n, M, a, b, c, out);
}

AP_KERNEL(void, combine_double, const double *h, const double *e, const double *n, int64_t M, double a, double b, double c, double *out) {
  combination(h, e, n, M, a, b, c, out);
}

template <class T>
struct RowKernels;

template <>
struct RowKernels<float> {
  static constexpr auto products = products_float;
  static constexpr auto combine = combine_float;
};

template <>
struct RowKernels<double> {
  static constexpr auto products = products_double;
  static constexpr auto combine = combine_double;
};

struct Job {
  const Loss &loss;
  const int64_t *targets, *negatives;  // negatives may be null; -1 stands for none
  int64_t ignore;
  double scale;
};

// One pass over rows that lie in the CPU's memory; gradient_NM is undefined where none is wanted.
template <class T>
double rows(const Job &job, const at::Tensor &h_NM, const at::Tensor &table_VM, at::Tensor &nll_N, at::Tensor &gradient_NM) {
  const int64_t N = h_NM.size(0), M = h_NM.size(1);
  const T *h = h_NM.const_data_ptr<T>(), *table = table_VM.const_data_ptr<T>();
  T *gradient = gradient_NM.defined() ? gradient_NM.mutable_data_ptr<T>() : nullptr;
  double *nll = nll_N.mutable_data_ptr<double>();
  std::vector<double> losses(N);
  at::parallel_for(0, N, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T *const out = gradient ? gradient + i * M : nullptr;
      if (job.targets[i] == job.ignore) {
        losses[i] = nll[i] = 0;
        if (out) std::fill(out, out + M, T(0));
        continue;
      }
      const int64_t other = job.negatives ? job.negatives[i] : -1;
      const T *const row = h + i * M, *const e = table + job.targets[i] * M, *const n = other >= 0 ? table + other * M : e;
      double square;
      Row r;
      RowKernels<T>::products(row, e, n, M, &square, &r.dot, &r.wrong, &r.distance2);
      r.kappa = square > 1e-290 && square < 1e290 ? std::sqrt(square) : scaled_norm(row, M, square);
      r.has_wrong = other >= 0;
      const RowTerms t = job.loss(r);
      losses[i] = t.loss;
      nll[i] = t.nll;
      if (out) RowKernels<T>::combine(row, e, n, M, job.scale * t.hidden, job.scale * t.target, job.scale * t.wrong, out);
    }
  });
  double sum = 0;
  for (double loss : losses) sum += loss;  // in the order of the rows, whatever the threads did
  return sum;
}

// What the loss takes beside hidden states; it is let go after the forward pass.
struct LossArguments {
  at::Tensor table, targets, negatives;  // the last may be undefined
  int64_t ignore;
  int kind;
  double lambda1, lambda2, scale;
  bool needs_hidden;
};

class ContinuousLoss : public Operator {
 public:
  explicit ContinuousLoss(LossArguments arguments) : arguments_(std::move(arguments)) {}

  Tensors forward(const Tensors &operands) override {
    const at::Tensor &hidden = operands[0];
    const auto [table, targets, negatives, ignore, kind, lambda1, lambda2, scale, needs_hidden] = std::exchange(arguments_, {});
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor h_NM = hidden.to(table.scalar_type()).contiguous(), table_VM = table.contiguous();
    at::Tensor sum, nll_N, gradient_NM;
    if (!h_NM.is_cpu() || (h_NM.scalar_type() != at::kFloat && h_NM.scalar_type() != at::kDouble)) {
      const ContinuousRows rows = continuous_rows({kind, lambda1, lambda2}, h_NM, table_VM, targets, negatives, ignore);
      sum = rows.loss_N.sum() * scale, nll_N = rows.nll_N;
      if (needs_hidden) gradient_NM = rows.gradient(scale);
    } else {
      const at::Tensor y_N = targets.cpu().contiguous(), n_N = negatives.defined() ? negatives.cpu().contiguous() : negatives;
      const Loss loss(kind, h_NM.size(1), lambda1, lambda2);
      const Job job = {loss, y_N.const_data_ptr<int64_t>(), n_N.defined() ? n_N.const_data_ptr<int64_t>() : nullptr, ignore, scale};
      nll_N = at::empty({h_NM.size(0)}, at::kDouble);
      if (needs_hidden) gradient_NM = at::empty_like(h_NM);
      const double total = h_NM.scalar_type() == at::kFloat ? rows<float>(job, h_NM, table_VM, nll_N, gradient_NM)
                                                            : rows<double>(job, h_NM, table_VM, nll_N, gradient_NM);
      sum = at::full({}, total * scale, nll_N.options());
    }
    if (needs_hidden) gradient_ = gradient_NM.to(hidden.scalar_type());
    mark_non_differentiable({nll_N});
    set_materialize_grads(false);  // none comes for it
    return {sum, nll_N};
  }

  Tensors backward(const Tensors &grads) override {
    TORCH_CHECK(gradient_.defined(), "ContinuousLoss: this loss was made without gradients, or was already used");
    return {times_incoming(std::exchange(gradient_, {}), grads[0])};  // handed over, not copied
  }

 private:
  LossArguments arguments_;
  at::Tensor gradient_;
};

// What both functions below need of their operands.
void check_operands(const at::Tensor &h, const at::Tensor &table, const at::Tensor &y, int64_t ignore) {
  TORCH_CHECK(h.dim() == 2 && table.dim() == 2 && h.size(1) == table.size(1) && h.size(1) > 0, "hidden states of shape ", h.sizes(),
              " do not fit target vectors of shape ", table.sizes());
  check_together(h, table);
  TORCH_CHECK(y.dim() == 1 && y.size(0) == h.size(0), "hidden states of shape ", h.sizes(), " do not fit targets of shape ", y.sizes());
  TORCH_CHECK(y.scalar_type() == at::kLong, "targets must be int64, not ", y.scalar_type());
  check_range(y.masked_select(y.ne(ignore)), table.size(0), "a target", "the vocabulary");
}

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" {

ap_error ap_continuous_loss(ap_tensor hidden, ap_tensor table, ap_tensor targets, ap_tensor negatives, int64_t ignore, int kind, double lambda1,
                            double lambda2, double scale, bool gradients, ap_tensor *loss, ap_tensor *nll) {
  return guard([&] {
    const at::Tensor &h = get(hidden), &e = get(table), &y = get(targets);
    check_operands(h, e, y, ignore);
    TORCH_CHECK(kind >= kNLL && kind <= kMaxMargin, "there is no continuous loss ", kind);
    TORCH_CHECK((kind == kMaxMargin) == (negatives != nullptr), "negatives belong to the max-margin loss and to no other");
    at::Tensor n;
    if (negatives) {
      n = get(negatives);
      TORCH_CHECK(n.sizes() == y.sizes() && n.scalar_type() == at::kLong, "negatives must be int64 in the shape of the targets, ", y.sizes(),
                  ", not ", n.scalar_type(), " of shape ", n.sizes());
      TORCH_CHECK(!n.is_cpu() || n.numel() == 0 || n.max().item<int64_t>() < e.size(0), "a negative is outside the vocabulary of ", e.size(0));
    }
    gradients = gradients && at::GradMode::is_enabled() && h.requires_grad();
    const Tensors results = recorded<ContinuousLoss>({h}, LossArguments{e.detach(), y, n, ignore, kind, lambda1, lambda2, scale, gradients});
    *loss = wrap(results[0]);
    *nll = wrap(results[1].detach());
  });
}

// The vector e_j that is nearest the output and farthest from the target: the largest
// (u - e) . e_j over j. bias_V keeps out what may not be chosen.
ap_error ap_informative_negatives(ap_tensor hidden, ap_tensor table, ap_tensor bias, ap_tensor targets, int64_t ignore, int64_t chunk,
                                  ap_tensor *out) {
  return guard([&] {
    const at::NoGradGuard no_grad;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor &e_VM = get(table), &b_V = get(bias), &y_N = get(targets);
    check_operands(get(hidden), e_VM, y_N, ignore);
    TORCH_CHECK(b_V.dim() == 1 && b_V.size(0) == e_VM.size(0), "a vocabulary of ", e_VM.size(0), " does not fit a bias of shape ", b_V.sizes());
    const at::Tensor h_NM = get(hidden).to(e_VM.scalar_type()), safe_N = moved(y_N.masked_fill(y_N.eq(ignore), 0), h_NM.device(), at::kLong);
    const int64_t N = h_NM.size(0);
    if (chunk <= 0) chunk = 512;
    at::Tensor chosen_N = at::empty({N}, safe_N.options());
    constexpr double none = -1e30;
    for (int64_t start = 0; start < N; start += chunk) {
      const int64_t C = std::min(chunk, N - start);
      const at::Tensor h_CM = h_NM.narrow(0, start, C), y_C = safe_N.narrow(0, start, C);
      const at::Tensor norm_C1 = at::linalg_vector_norm(h_CM, 2, {1}, true);
      const at::Tensor u_CM = at::where(norm_C1 > kNoDirection, h_CM / norm_C1, 0);
      at::Tensor scores_CV = at::addmm(b_V, u_CM - e_VM.index_select(0, y_C), e_VM.t());
      scores_CV.scatter_(1, y_C.unsqueeze(1), none);
      const auto [best, index] = scores_CV.max(1);
      chosen_N.narrow(0, start, C).copy_(index.masked_fill(best < 0.5 * none, -1));
    }
    *out = wrap(chosen_N);
  });
}

}  // extern "C"
