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

#include "api_allocator.h"
#include "api_attentional.h"
#include "api_attentional_step.h"
#include "api_autograd.h"
#include "api_beam_topk.h"
#include "api_continuous_loss.h"
#include "api_cosine_penalty.h"
#include "api_decoder_step.h"
#include "api_device.h"
#include "api_dynamic.h"
#include "api_elementary.h"
#include "api_gru.h"
#include "api_handle.h"
#include "api_isa.h"
#include "api_layers.h"
#include "api_lstm.h"
#include "api_mixture_loss.h"
#include "api_optimizer.h"
#include "api_orthogonality.h"
#include "api_packed_linear.h"
#include "api_process_group.h"
#include "api_products.h"
#include "api_qrnn.h"
#include "api_random.h"
#include "api_regularisation.h"
#include "api_repeated_linear.h"
#include "api_residual_norm.h"
#include "api_softmax_loss.h"
#include "api_split.h"
#include "api_vmf.h"
