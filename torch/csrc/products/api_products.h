// Time spent in matrix products (products.cc).
#pragma once

#include "border/api_types.h"

AP_API ap_error ap_products_begin(void);
AP_API ap_error ap_products_end(double *seconds);  // since the beginning
