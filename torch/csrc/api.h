// The border between Go and libtorch: C types only, and the one header that
// Go's torch package includes.
//
// Handles. A tensor handle is an at::Tensor* on the C++ heap, the same
// representation as gotorch's, so that handles of both mix freely. Functions
// that make tensors store new handles in their out parameters; the caller owns
// them and frees them with ap_free.
//
// Errors. Every fallible function returns its error text in the same call:
// NULL on success, else a malloc'd string that the caller frees with
// ap_free_text. Its first character is the kind: 'm' out of memory, 'e' any
// other error; the text follows.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define AP_API __attribute__((visibility("default")))
#else
#define AP_API
#endif

typedef void *ap_tensor;
typedef char *ap_error;

AP_API void ap_free_text(char *text);

// ---- handles (handle.cc)
AP_API ap_error ap_from_data(const void *data, int dtype, const int64_t *shape, int rank, const char *device, ap_tensor *out);
AP_API ap_error ap_full(double value, int dtype, const int64_t *shape, int rank, const char *device, ap_tensor *out);
AP_API ap_error ap_arange(int64_t n, const char *device, ap_tensor *out);
AP_API void ap_enter_thread(void);  // makes this thread the one that tensors belong to
AP_API bool ap_adopt(void);         // counts a handle that gotorch made; false on another thread
AP_API void ap_free(ap_tensor *handles, int n);
AP_API int ap_rank(ap_tensor x);
AP_API int64_t ap_size(ap_tensor x, int dim);
AP_API int ap_dtype(ap_tensor x);
AP_API int ap_cuda_index(ap_tensor x);  // -1 on the CPU
AP_API ap_error ap_copy_out(ap_tensor x, int dtype, void *data, int64_t count);  // as a contiguous CPU tensor of dtype
AP_API ap_error ap_copy_in(ap_tensor x, int dtype, const void *data, int64_t count);  // in place, no gradient
AP_API ap_error ap_assign(ap_tensor x, ap_tensor value);                               // x.copy_(value), no gradient
AP_API int64_t ap_live_handles(void);
AP_API int64_t ap_live_bytes(void);
AP_API int64_t ap_peak_bytes(void);
AP_API void ap_reset_peak_bytes(void);

// ---- elementary operators that gotorch lacks (elementary.cc)
AP_API ap_error ap_unary(int op, ap_tensor x, ap_tensor *out);
AP_API ap_error ap_scalar(int op, ap_tensor x, double value, ap_tensor *out);
AP_API ap_error ap_compare(int op, ap_tensor a, ap_tensor b, ap_tensor *out);
AP_API ap_error ap_reduce(int op, ap_tensor x, int64_t dim, bool keep, ap_tensor *out);
AP_API ap_error ap_matmul(ap_tensor a, ap_tensor b, ap_tensor *out);
AP_API ap_error ap_reshape(ap_tensor x, const int64_t *shape, int rank, ap_tensor *out);
AP_API ap_error ap_expand(ap_tensor x, const int64_t *shape, int rank, ap_tensor *out);
AP_API ap_error ap_narrow(ap_tensor x, int64_t dim, int64_t start, int64_t length, ap_tensor *out);
AP_API ap_error ap_cat(ap_tensor *xs, int n, int64_t dim, ap_tensor *out);
AP_API ap_error ap_gather(ap_tensor x, int64_t dim, ap_tensor index, ap_tensor *out);
AP_API ap_error ap_masked_fill(ap_tensor x, ap_tensor mask, double value, ap_tensor *out);
AP_API ap_error ap_index_put_rows(ap_tensor x, ap_tensor rows, int64_t total, ap_tensor *out);
AP_API ap_error ap_softmax(ap_tensor x, int64_t dim, ap_tensor *out);
AP_API ap_error ap_cumsum(ap_tensor x, int64_t dim, ap_tensor *out);
AP_API ap_error ap_to(ap_tensor x, int dtype, const char *device, ap_tensor *out);
AP_API ap_error ap_svd_values(ap_tensor x, ap_tensor *out);
AP_API ap_error ap_eigh(ap_tensor x, ap_tensor *values, ap_tensor *vectors);
AP_API ap_error ap_qr(ap_tensor x, ap_tensor *q, ap_tensor *r);

// ---- layers (layers.cc)
AP_API ap_error ap_linear(ap_tensor x, ap_tensor weight, ap_tensor bias, ap_tensor *out);  // bias may be NULL
AP_API ap_error ap_embedding(ap_tensor weight, ap_tensor ids, int64_t padding, ap_tensor *out);
AP_API ap_error ap_layer_norm(ap_tensor x, ap_tensor gain, ap_tensor bias, double eps, ap_tensor *out);
AP_API ap_error ap_attention(ap_tensor q, ap_tensor k, ap_tensor v, ap_tensor mask, bool causal, ap_tensor *out);  // mask may be NULL

// ---- autograd (autograd.cc)
AP_API ap_error ap_set_requires_grad(ap_tensor x, bool value);  // of a leaf
AP_API ap_error ap_parameter(ap_tensor x);  // makes x, in place, a row-major leaf that requires a gradient
AP_API bool ap_requires_grad(ap_tensor x);
AP_API ap_error ap_backward(ap_tensor loss);
AP_API ap_error ap_backward_with(ap_tensor output, ap_tensor gradient);
AP_API ap_error ap_grad(ap_tensor x, ap_tensor *out);  // *out is NULL where x has no gradient
AP_API ap_error ap_zero_grad(ap_tensor *xs, int n);    // drops the gradients
AP_API ap_error ap_detach(ap_tensor x, ap_tensor *out);
AP_API bool ap_set_grad_enabled(bool value);           // returns the value before
AP_API ap_error ap_set_autocast(bool enabled, const char *device, bool *before);

// ---- random streams (random.cc): a draw is a function of (seed, offset) only
AP_API ap_error ap_random_uniform(uint64_t seed, uint64_t offset, double low, double high, int dtype, const int64_t *shape, int rank,
                                  const char *device, ap_tensor *out);
AP_API ap_error ap_random_normal(uint64_t seed, uint64_t offset, double mean, double stddev, int dtype, const int64_t *shape, int rank,
                                 const char *device, ap_tensor *out);
AP_API ap_error ap_dropout(ap_tensor x, double p, uint64_t seed, uint64_t offset, ap_tensor *out);

// ---- fused operators, one file each
AP_API ap_error ap_residual_norm(ap_tensor x, ap_tensor residual, ap_tensor gain, ap_tensor bias, double eps, double p, uint64_t seed,
                                 uint64_t offset, ap_tensor *out);
AP_API ap_error ap_softmax_loss(ap_tensor hidden, ap_tensor weight, ap_tensor bias, ap_tensor targets, int64_t ignore, int smoothing,
                                double epsilon, double scale, int64_t chunk, bool gradients, ap_tensor *loss, ap_tensor *nll);
AP_API ap_error ap_orthogonality(ap_tensor x, ap_tensor vector, double frobenius, double spectral, int64_t iterations,
                                 ap_tensor *out);  // vector may be NULL, is turned in place

// ---- decoding (packed_linear.cc, decoder_step.cc, beam_topk.cc): float32 on the CPU, no gradients
AP_API ap_error ap_pack_weight(ap_tensor weight, ap_tensor *out);  // an opaque layout
AP_API ap_error ap_packed_linear(ap_tensor x, ap_tensor weight, ap_tensor bias, bool relu, ap_tensor *out);  // bias may be NULL
// weights: 18 tensors a layer, in the order of models/decoder.go. last_norm: gain and bias, NULL for post-norm.
// history: keys and values [layers, rows, 2 width] of each step before; ancestors [hypotheses, steps]: rows of them.
AP_API ap_error ap_decoder_step(ap_tensor x, ap_tensor *weights, int layers, ap_tensor *last_norm, int heads, double eps, ap_tensor *history,
                                int steps, const int32_t *ancestors, ap_tensor *memory, const int32_t *starts, const int32_t *lengths,
                                int sentences, int longest, bool want_attention, ap_tensor *hidden, ap_tensor *kv, ap_tensor *attention);
// Without a weight, x are log-probabilities. end_rule by sentence: 0 free, 1 no end, 2 nothing but the end.
AP_API ap_error ap_beam_topk(ap_tensor x, ap_tensor weight, ap_tensor bias, const double *scores, int64_t sentences, int64_t k, int64_t pad,
                             int64_t end, const uint8_t *end_rule, const int32_t *banned, const int64_t *banned_starts, double *out_scores,
                             double *out_log_probs, int32_t *out_rows, int32_t *out_ids);

// ---- optimizers (optimizer.cc)
AP_API ap_error ap_adam(ap_tensor *params, ap_tensor *m, ap_tensor *v, int n, double rate, double beta1, double beta2, double eps,
                        double decay, bool decoupled, int64_t step);
AP_API ap_error ap_sgd(ap_tensor *params, int n, double rate, double decay);
AP_API ap_error ap_clip(ap_tensor *params, int n, double limit, double *norm);  // limit <= 0 measures only
AP_API ap_error ap_scale_grad(ap_tensor *params, int n, double factor);
AP_API ap_error ap_lerp(ap_tensor *average, ap_tensor *params, int n, double weight);

// ---- devices (device.cc)
AP_API ap_error ap_set_threads(int n);
AP_API int ap_threads(void);
AP_API const char *ap_version(void);
AP_API bool ap_has_bfloat16(void);  // instructions for bfloat16 products on this CPU
AP_API ap_error ap_cuda_load(const char *folder);
AP_API int ap_cuda_devices(void);
AP_API ap_error ap_synchronize(const char *device);
AP_API int64_t ap_cuda_peak_bytes(void);
AP_API const char *ap_csrc_digest(void);

#ifdef __cplusplus
}
#endif
