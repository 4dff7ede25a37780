// Losses that aim at vectors (continuous_loss.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_continuous_loss(ap_tensor hidden, ap_tensor table, ap_tensor targets, ap_tensor negatives, int64_t ignore, int kind,
                                   double lambda1, double lambda2, double scale, bool gradients, ap_tensor *loss, ap_tensor *nll);
AP_API ap_error ap_informative_negatives(ap_tensor hidden, ap_tensor table, ap_tensor bias, ap_tensor targets, int64_t ignore, int64_t chunk,
                                         ap_tensor *out);  // -1 where there is none
