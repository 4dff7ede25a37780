// Process groups of c10d: a store of keys that processes meet in, and a group that sums, copies and gathers tensors
// (process_group.cc, gradient_buckets.cc).
#pragma once

#include "border/api_types.h"

typedef void *ap_store;
typedef void *ap_group;
typedef void *ap_buckets;

// Stores. Keys get the prefix. A call that waits for the store's server gives up after timeout_ms. All but
// ap_store_close may be called from any thread, one call at a time. The store serves itself on a listener, a socket at
// host and port, which it then owns; -1 connects to a server there.
AP_API ap_error ap_store_open(const char *host, int port, int listener, const char *prefix, int64_t timeout_ms, ap_store *out);
AP_API ap_error ap_store_set(ap_store s, const char *key, const char *value);
AP_API ap_error ap_store_first(ap_store s, const char *key, const char *value, char **now);  // sets it where it is not set; now is freed with ap_free_text
AP_API ap_error ap_store_get(ap_store s, const char *key, char **value);                     // NULL where it is not set
AP_API ap_error ap_store_add(ap_store s, const char *key, int64_t n, int64_t *now);
AP_API void ap_store_close(ap_store s);

// Groups. Every process calls the same functions in the same order. Tensors are contiguous.
AP_API ap_error ap_group_join(ap_store s, int rank, int size, const char *address, int64_t timeout_ms, ap_group *out);
// Makes a group of NCCL beside it, which tensors on a GPU go by from then on; until then they go by the CPU's memory.
// The path is that of libaperture_cuda.so (cuda/nccl.cc). libtorch's CUDA side must be loaded (ap_cuda_load).
AP_API ap_error ap_group_use_nccl(ap_group g, const char *path);
AP_API ap_error ap_group_reduce(ap_group g, ap_tensor x, bool largest);  // sum or maximum, in place
AP_API ap_error ap_group_broadcast(ap_group g, ap_tensor x, int root);   // in place
AP_API ap_error ap_group_barrier(ap_group g);
// Gathers n bytes of each process, in the order of ranks: all is malloc'd, sizes holds one number for each.
AP_API ap_error ap_group_gather(ap_group g, const void *data, int64_t n, void **all, int64_t *sizes);
AP_API void ap_group_leave(ap_group g);

// Buckets sum the gradients of parameters, in the order of the backward pass, while that runs.
AP_API ap_error ap_buckets_new(ap_group g, ap_tensor *params, int n, int64_t bytes, ap_buckets *out);
AP_API void ap_buckets_arm(ap_buckets b);         // the next backward pass is the update's last
AP_API ap_error ap_buckets_finish(ap_buckets b);  // sums what is left, and writes the sums to the gradients
// Since the beginning: bytes summed, the time for which any bucket was under way, and how much of it finish waited.
AP_API void ap_buckets_report(ap_buckets b, int64_t *bytes, int64_t *busy_ns, int64_t *waited_ns);
AP_API void ap_buckets_free(ap_buckets b);
