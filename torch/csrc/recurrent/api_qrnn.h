// The scan of a quasi-recurrent layer: float32 on the CPU (qrnn.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_qrnn_scan(ap_tensor gates, ap_tensor c, ap_tensor *out, ap_tensor *c_n);
