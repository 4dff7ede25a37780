// Log-probabilities of a mixture of softmaxes, for decoding: no gradients.
//
//   log P_nj = log sum_k pi_nk exp(u_nk . w_j + b_j - lse_nk)
//
// Positions are taken a chunk at a time, so that nothing of size N x K x V is
// ever kept.
//
// Legend: N positions, C positions of a chunk, K components, D width, V
// vocabulary.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>

#include <cmath>

#include "api_mixture_loss.h"
#include "border/common.h"
#include "mixture_row.h"
#include "softmax_row.h"

namespace ap {
namespace {

template <class T>
void log_probs(const at::Tensor &logits_CKV, const at::Tensor &log_pi_CK, at::Tensor &out_CV) {
  const int64_t C = logits_CKV.size(0), K = logits_CKV.size(1), V = logits_CKV.size(2);
  T *logits = logits_CKV.mutable_data_ptr<T>(), *out = out_CV.mutable_data_ptr<T>();
  const T *log_pi = log_pi_CK.const_data_ptr<T>();
  at::parallel_for(0, C, 1, [&](int64_t begin, int64_t end) {
    std::vector<Component<T>> components(K);
    for (int64_t n = begin; n < end; ++n) {
      for (int64_t k = 0; k < K; ++k) {
        T *row = logits + (n * K + k) * V;
        const Sums sums = exponentials(row, V, false);
        components[k].row = row;
        components[k].lift = static_cast<T>(log_pi[n * K + k] - sums.top - std::log(sums.total));
      }
      for (int64_t start = 0; start < V; start += kTile) log_mixture(components.data(), K, start, std::min(start + kTile, V), out + n * V);
    }
  });
}

}  // namespace
}  // namespace ap

using namespace ap;

extern "C" ap_error ap_mixture_log_probs(ap_tensor latent, ap_tensor prior, ap_tensor weight, ap_tensor bias, ap_tensor *out) {
  return guard([&] {
    const c10::AutoGradMode no_gradients(false);
    const at::Tensor &u = get(latent), &a = get(prior), &w = get(weight);
    TORCH_CHECK(u.dim() == 3 && u.size(1) > 0 && w.dim() == 2 && u.size(2) == w.size(1), "latent states of shape ", u.sizes(),
                " do not fit a weight of shape ", w.sizes());
    const int64_t N = u.size(0), K = u.size(1), D = u.size(2), V = w.size(0);
    TORCH_CHECK(a.dim() == 2 && a.size(0) == N && a.size(1) == K, "latent states of shape ", u.sizes(), " do not fit a prior of shape ", a.sizes());
    const auto device = u.device().type();
    const bool autocast = at::autocast::is_autocast_enabled(device);
    const at::ScalarType type = autocast ? at::autocast::get_autocast_dtype(device) : u.scalar_type();
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor u_NKD = u.to(type).contiguous(), w_VD = w.to(type);
    const at::Tensor b_V = bias ? get(bias).to(type) : at::Tensor();
    const at::Tensor log_pi_NK = at::log_softmax(a.to(wide), 1);
    at::Tensor out_NV = at::empty({N, V}, u.options().dtype(wide));
    const int64_t chunk = std::max<int64_t>(1, chunk_rows(N * K, V * static_cast<int64_t>(c10::elementSize(type)), u.is_cpu()) / K);
    for (int64_t start = 0; start < N; start += chunk) {
      const int64_t C = std::min(chunk, N - start);
      const at::Tensor u_RD = u_NKD.narrow(0, start, C).view({C * K, D});
      const at::Tensor logits_CKV = (b_V.defined() ? at::addmm(b_V, u_RD, w_VD.t()) : at::mm(u_RD, w_VD.t())).view({C, K, V});
      const at::Tensor log_pi_CK = log_pi_NK.narrow(0, start, C);
      at::Tensor out_CV = out_NV.narrow(0, start, C);
      if (!u.is_cpu() || type != wide)
        at::logsumexp_out(out_CV, at::log_softmax(logits_CKV, 2, wide).add_(log_pi_CK.unsqueeze(2)), 1);
      else if (wide == at::kFloat)
        log_probs<float>(logits_CKV, log_pi_CK, out_CV);
      else
        log_probs<double>(logits_CKV, log_pi_CK, out_CV);
    }
    *out = wrap(out_NV);
  });
}
