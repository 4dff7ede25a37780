// The border between Go and libtorch: C types only, and the one header that
// Go's torch package includes. A file of the C++ side includes its own part, so
// that a new operator compiles no other anew.
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

#include "border/api_allocator.h"
#include "attention/api_attentional.h"
#include "attention/api_attentional_step.h"
#include "attention/api_dot_product.h"
#include "border/api_autograd.h"
#include "search/api_beam_topk.h"
#include "losses/api_continuous_loss.h"
#include "penalties/api_cosine_penalty.h"
#include "search/api_decoder_step.h"
#include "devices/api_device.h"
#include "updates/api_dynamic.h"
#include "operators/api_elementary.h"
#include "recurrent/api_gru.h"
#include "border/api_handle.h"
#include "devices/api_isa.h"
#include "operators/api_layers.h"
#include "recurrent/api_lstm.h"
#include "losses/api_mixture_loss.h"
#include "updates/api_optimizer.h"
#include "penalties/api_orthogonality.h"
#include "losses/api_output_loss.h"
#include "products/api_packed_linear.h"
#include "processes/api_process_group.h"
#include "products/api_products.h"
#include "recurrent/api_qrnn.h"
#include "operators/api_random.h"
#include "operators/api_regularisation.h"
#include "products/api_repeated_linear.h"
#include "operators/api_residual_norm.h"
#include "losses/api_softmax_loss.h"
#include "operators/api_split.h"
#include "losses/api_vmf.h"
