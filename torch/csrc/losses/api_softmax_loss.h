// The loss of a softmax output layer (softmax_loss.cc).
#pragma once

#include "api_loss_options.h"

// bias and shift may be NULL; shifted is set where there is a shift.
AP_API ap_error ap_softmax_loss(ap_tensor hidden, ap_tensor weight, ap_tensor bias, ap_tensor targets, ap_tensor shift, ap_loss_options options,
                                ap_tensor *loss, ap_tensor *nll, ap_tensor *shifted);
