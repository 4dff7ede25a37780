package objectives

import "testing"

func TestDispersionEqualsPyTorch(t *testing.T) {
	for _, of := range []string{"angles", "orthogonality", "correlations", "distances"} {
		penaltyEqualsPyTorch(t, of, "dispersion", nil, "dispersion_of", of, "dispersion_tau", 0.7)
	}
}
