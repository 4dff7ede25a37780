package torch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

type scan func(gates, c torch.Tensor) (out, last torch.Tensor)

// runScan gives values and gradients of a scan of inputs drawn from one seed.
func runScan(f scan, dtype torch.DType, steps, columns, width int64) []torch.Tensor {
	draw := torch.NewStream(5, "inputs")
	normal := func(scale float64, shape ...int64) torch.Tensor {
		return draw.Normal(0, scale, dtype, device, shape...)
	}
	gates, c := normal(2, steps, columns, 3*width), normal(1, columns, width)
	gates.SetRequiresGrad(true)
	c.SetRequiresGrad(true)
	out, last := f(gates, c)
	out.Mul(normal(1, steps, columns, width)).Sum().Add(last.Mul(normal(1, columns, width)).Sum()).Backward()
	return []torch.Tensor{out, last, c.Grad(), gates.Grad()}
}

func TestQRNNScanEqualsReference(t *testing.T) {
	for _, shape := range [][3]int64{{1, 1, 1}, {7, 4, 31}, {31, 3, 47}, {5, 20, 64}, {0, 3, 5}, {4, 0, 5}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			torch.Test(t, func() {
				want := runScan(torch.QRNNScanReference, torch.Float32, shape[0], shape[1], shape[2])
				for what, f := range map[string]scan{"a scan": torch.QRNNScan, "doubling": torch.QRNNDoubling} {
					for i, got := range runScan(f, torch.Float32, shape[0], shape[1], shape[2]) {
						if !got.Defined() && shape[0] == 0 { // without steps there is nothing to differentiate
							continue
						}
						expected := want[i]
						if !expected.Defined() {
							expected = torch.Zeros(torch.Float32, device, got.Shape()...)
						}
						near(t, fmt.Sprintf("%s, result %d", what, i), got, expected)
					}
				}
			})
		})
	}
}

// TestQRNNScanInFloat64 checks the reference by differences.
func TestQRNNScanInFloat64(t *testing.T) {
	torch.Test(t, func() {
		draw := torch.NewStream(2, "inputs")
		inputs := []torch.Tensor{draw.Normal(0, 1, torch.Float64, device, 4, 2, 9),
			draw.Normal(0, 1, torch.Float64, device, 2, 3)}
		weights := draw.Normal(0, 1, torch.Float64, device, 4, 2, 3)
		checkGradients(t, "float64", inputs, func(in []torch.Tensor) torch.Tensor {
			out, last := torch.QRNNScan(in[0], in[1])
			return out.Mul(weights).Sum().Add(last.Square().Sum())
		})
		checkGradients(t, "doubling", inputs, func(in []torch.Tensor) torch.Tensor {
			out, last := torch.QRNNDoubling(in[0], in[1])
			return out.Mul(weights).Sum().Add(last.Square().Sum())
		})
	})
}

// TestQRNNScanForgetsAll: with the forget gate fully on, c is the candidate.
func TestQRNNScanForgetsAll(t *testing.T) {
	for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
		torch.Test(t, func() {
			draw := torch.NewStream(3, "inputs")
			z, o := draw.Normal(0, 1, dtype, device, 5, 4, 7), draw.Normal(0, 1, dtype, device, 5, 4, 7)
			on := torch.Full(200, dtype, device, 5, 4, 7)
			out, _ := torch.QRNNScan(torch.Cat([]torch.Tensor{z, on, o}, 2), draw.Normal(0, 1, dtype, device, 4, 7))
			near(t, "output", out, o.Sigmoid().Mul(z.Tanh()))
		})
	}
}

func TestQRNNScanRefusesShapes(t *testing.T) {
	ofCPU(t)
	torch.Test(t, func() {
		zeros := func(shape ...int64) torch.Tensor { return torch.Zeros(torch.Float32, device, shape...) }
		for what, f := range map[string]func(){
			"two gates":     func() { torch.QRNNScan(zeros(4, 3, 10), zeros(3, 5)) },
			"other columns": func() { torch.QRNNScan(zeros(4, 3, 15), zeros(2, 5)) },
		} {
			if err := torch.Try(func() error { f(); return nil }); err == nil ||
				!strings.HasPrefix(err.Error(), "QRNNScan of shapes [") {
				t.Errorf("%s: the error is %v", what, err)
			}
		}
	})
}
