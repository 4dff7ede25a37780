package objectives

import "testing"

func TestCentreLossEqualsPyTorch(t *testing.T) { equalsPyTorch(t, "centre-loss", "centre_gamma", 0.03) }
