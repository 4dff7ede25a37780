// The loss of a softmax output layer (softmax_loss.cc).
#pragma once

#include "api_types.h"

AP_API ap_error ap_softmax_loss(ap_tensor hidden, ap_tensor weight, ap_tensor bias, ap_tensor targets, int64_t ignore, int smoothing,
                                double epsilon, double scale, int64_t chunk, bool gradients, ap_tensor *loss, ap_tensor *nll);
