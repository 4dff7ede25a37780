package objectives

import "testing"

func TestSoftcapEqualsPyTorch(t *testing.T) { equalsPyTorch(t, "softcap", "softcap", 2.0) }
