package models_test

import (
	"os"
	"testing"

	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checked"
)

// device is where these tests compute: the CPU, or what APERTURE_TEST_DEVICE says.
var device = checked.FromEnvironment()

// The models of these tests are too small to share among threads, which on a busy
// machine would mostly wait for each other.
func TestMain(m *testing.M) {
	torch.SetThreads(1)
	os.Exit(m.Run())
}
