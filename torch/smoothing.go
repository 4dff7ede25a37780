package torch

import "math"

// smoothingWeights gives the loss of a row as on*nll + off*sum_j(-log p_j) - entropy.
func smoothingWeights(kind Smoothing, epsilon, v float64) (on, off, entropy float64) {
	if kind == SmoothingPyTorch {
		return 1 - epsilon, epsilon / v, 0
	}
	if v > 1 {
		off = epsilon / (v - 1)
	}
	on = 1 - epsilon - off
	if kind == SmoothingT2T && epsilon > 0 && v > 1 {
		if epsilon < 1 {
			entropy -= (1 - epsilon) * math.Log(1-epsilon)
		}
		entropy -= (v - 1) * off * math.Log(off)
	}
	return on, off, entropy
}
