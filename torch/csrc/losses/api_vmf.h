// The normaliser of the von Mises-Fisher density (vmf.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_vmf_normaliser(ap_tensor kappa, int64_t m, ap_tensor *log_c, ap_tensor *ratio);
