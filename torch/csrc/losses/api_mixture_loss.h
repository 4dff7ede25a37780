// A mixture of softmaxes: its loss (mixture_loss.cc) and log-probabilities
// (mixture_log_probs.cc).
#pragma once

#include "api_loss_options.h"

// bias and shift may be NULL; shifted is set where there is a shift.
AP_API ap_error ap_mixture_loss(ap_tensor latent, ap_tensor prior, ap_tensor weight, ap_tensor bias, ap_tensor targets, ap_tensor shift,
                                ap_loss_options options, ap_tensor *loss, ap_tensor *nll, ap_tensor *shifted);

AP_API ap_error ap_mixture_log_probs(ap_tensor latent, ap_tensor prior, ap_tensor weight, ap_tensor bias, ap_tensor *out);
