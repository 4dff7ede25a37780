// A mixture of softmaxes: its loss (mixture_loss.cc) and log-probabilities
// (mixture_log_probs.cc).
#pragma once

#include "api_types.h"

// bias and shift may be NULL; shifted is set where there is a shift.
AP_API ap_error ap_mixture_loss(ap_tensor latent, ap_tensor prior, ap_tensor weight, ap_tensor bias, ap_tensor targets, ap_tensor shift, int64_t ignore,
                                int smoothing, double epsilon, bool smooth_shifted, double scale, int64_t chunk, bool gradients, ap_tensor *loss,
                                ap_tensor *nll, ap_tensor *shifted);

AP_API ap_error ap_mixture_log_probs(ap_tensor latent, ap_tensor prior, ap_tensor weight, ap_tensor bias, ap_tensor *out);
