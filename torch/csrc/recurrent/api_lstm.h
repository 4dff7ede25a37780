// An LSTM layer over all time steps (lstm.cc).
#pragma once

#include "border/api_types.h"

// lengths holds n entries, or is NULL where all columns have all steps. The float32 layer on the CPU is fused; on
// other devices and types the layer is libtorch's, without lengths.
AP_API ap_error ap_lstm(ap_tensor x, ap_tensor h, ap_tensor c, ap_tensor weight_ih, ap_tensor weight_hh, ap_tensor bias_ih, ap_tensor bias_hh,
                        const int64_t *lengths, int n, bool reverse, double drop, uint64_t seed, uint64_t offset, ap_tensor *out, ap_tensor *h_n,
                        ap_tensor *c_n);

// Which products the steps make: "panels", "thin" or "library".
AP_API const char *ap_lstm_path(int64_t steps, int64_t columns);
// One step from its gates, the sum of two, on an accelerator.
AP_API ap_error ap_lstm_cell(ap_tensor gates, ap_tensor more, ap_tensor c, ap_tensor *h_n, ap_tensor *c_n);
