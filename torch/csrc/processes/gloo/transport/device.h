// Stands in for gloo's header of this name: see gloo_declared.h.
#include "../../gloo_declared.h"
