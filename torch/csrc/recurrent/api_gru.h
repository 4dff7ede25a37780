// A layer of gated recurrent units by libtorch, for an accelerator (gru.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_gru(ap_tensor x, ap_tensor h, ap_tensor weight_ih, ap_tensor weight_hh, ap_tensor bias_ih, ap_tensor bias_hh, ap_tensor *out,
                       ap_tensor *h_n);
