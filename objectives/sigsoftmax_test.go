package objectives

import "testing"

func TestSigsoftmaxEqualsPyTorch(t *testing.T) { equalsPyTorch(t, "sigsoftmax") }
