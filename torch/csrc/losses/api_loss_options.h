// The settings that the losses over a vocabulary share: torch.SoftmaxLossOptions,
// which says what they mean.
#pragma once

#include "border/api_types.h"

typedef struct {
  int64_t ignore;
  int smoothing;
  double epsilon;
  double z_loss;
  double scale;
  int64_t chunk;
  bool gradients;
} ap_loss_options;
