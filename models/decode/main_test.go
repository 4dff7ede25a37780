package decode_test

import (
	"os"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// The models of these tests are too small to share among threads.
func TestMain(m *testing.M) {
	torch.SetThreads(1)
	os.Exit(m.Run())
}
