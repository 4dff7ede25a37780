package objectives

import "testing"

func TestSimCTGEqualsPyTorch(t *testing.T) { penaltyEqualsPyTorch(t, "simctg", "simctg", nil) }
