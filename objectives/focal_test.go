package objectives

import "testing"

func TestFocalEqualsPyTorch(t *testing.T) { equalsPyTorch(t, "focal") }
