package measures

import (
	"os"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/torch"
)

// The matrices of these tests are too small to share among threads.
func TestMain(m *testing.M) {
	torch.SetThreads(1)
	os.Exit(m.Run())
}

var near = fixtures.Near

// sizes are odd on purpose: tall, square, wider than the vocabulary, single.
var sizes = [][2]int64{{47, 4}, {31, 31}, {5, 8}, {3, 1}, {2, 3}, {1, 4}}

// orthonormal has the column space of x and orthonormal columns.
func orthonormal(x torch.Tensor) torch.Tensor {
	q, _ := x.QR()
	return q
}

// golden are the matrices that gen_spectrum.py wrote.
func golden(t *testing.T) map[string]torch.Tensor {
	t.Helper()
	tensors, _, err := torch.ReadSafetensors("../testdata/spectrum.safetensors", torch.CPU)
	if err != nil {
		t.Fatal(err)
	}
	return tensors
}
