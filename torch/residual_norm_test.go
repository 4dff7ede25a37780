package torch_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

type residualNorm func(x, residual, gain, bias torch.Tensor, eps, p float64, s *torch.Stream) torch.Tensor

// runResidualNorm returns value and gradients of inputs drawn from one seed, in
// float32.
func runResidualNorm(f residualNorm, p float64, rows ...int64) []torch.Tensor {
	draw, dropout := torch.NewStream(5, "inputs"), torch.NewStream(5, "dropout")
	width := rows[len(rows)-1]
	leaves := []torch.Tensor{
		draw.Normal(0, 1, torch.Float32, device, rows...), draw.Normal(0.5, 2, torch.Float32, device, rows...),
		draw.Normal(1, 0.2, torch.Float32, device, width), draw.Normal(0, 0.2, torch.Float32, device, width),
	}
	for _, x := range leaves {
		x.SetRequiresGrad(true)
	}
	y := f(leaves[0], leaves[1], leaves[2], leaves[3], 1e-5, p, dropout)
	y.BackwardWith(draw.Normal(0, 1, torch.Float32, device, rows...))
	out := []torch.Tensor{y}
	for _, x := range leaves {
		out = append(out, x.Grad())
	}
	return out
}

var residualNormResults = []string{"value", "gradient of x", "gradient of the residual", "gradient of the gain",
	"gradient of the bias"}

// A rate below 2^-32 drops nothing.
func TestResidualNormEqualsReference(t *testing.T) {
	for _, shape := range [][]int64{{1, 2}, {47, 7}, {5, 31}, {4, 3, 31}, {300, 512}, {2, 47, 64}, {0, 7}, {3, 0, 31}} {
		for _, p := range []float64{0, 1e-10, 0.1, 0.5} {
			t.Run(fmt.Sprintf("%v/%v", shape, p), func(t *testing.T) {
				torch.Test(t, func() {
					want := runResidualNorm(torch.ResidualNormReference, p, shape...)
					for i, got := range runResidualNorm(torch.ResidualNorm, p, shape...) {
						near(t, residualNormResults[i], got, want[i])
					}
				})
			})
		}
	}
}

// TestResidualNormOfWidthOne: a row of one element has no variance, so its value
// is the bias, and x and the residual have no gradient but rounding over sqrt(eps).
func TestResidualNormOfWidthOne(t *testing.T) {
	torch.Test(t, func() {
		want := runResidualNorm(torch.ResidualNormReference, 0.1, 31, 1)
		for i, got := range runResidualNorm(torch.ResidualNorm, 0.1, 31, 1) {
			if i != 1 && i != 2 {
				near(t, residualNormResults[i], got, want[i])
				continue
			}
			for _, v := range got.Float64s() {
				if math.Abs(v) > 2e-4 {
					t.Errorf("%s is %v, want 0", residualNormResults[i], v)
				}
			}
		}
	})
}

// TestResidualNormThreads: rows are computed alike on any thread; only the sums
// over rows may round otherwise.
func TestResidualNormThreads(t *testing.T) {
	torch.Test(t, func() {
		defer torch.SetThreads(0)
		torch.SetThreads(1)
		single := runResidualNorm(torch.ResidualNorm, 0.1, 300, 512)
		torch.SetThreads(2)
		double := runResidualNorm(torch.ResidualNorm, 0.1, 300, 512)
		again := runResidualNorm(torch.ResidualNorm, 0.1, 300, 512)
		for i := range single {
			if i < 3 && !slices.Equal(single[i].Float32s(), double[i].Float32s()) {
				t.Errorf("%s differs with the number of threads", residualNormResults[i])
			}
			near(t, residualNormResults[i], double[i], single[i])
			if !slices.Equal(double[i].Float32s(), again[i].Float32s()) {
				t.Errorf("%s differs from run to run", residualNormResults[i])
			}
		}
	})
}

// TestResidualNormLayout: operands that are not in row-major order.
func TestResidualNormLayout(t *testing.T) {
	torch.Test(t, func() {
		draw := torch.NewStream(2, "inputs")
		x := draw.Normal(0, 1, torch.Float32, device, 31, 47).Transpose(0, 1)
		residual := draw.Normal(0, 1, torch.Float32, device, 47, 62).Narrow(1, 20, 31)
		affine := draw.Normal(1, 0.1, torch.Float32, device, 31, 2)
		gain, bias := affine.Narrow(1, 0, 1).Reshape(31), affine.Transpose(0, 1).Narrow(0, 1, 1).Reshape(31)
		near(t, "value", torch.ResidualNorm(x, residual, gain, bias, 1e-5, 0, nil),
			torch.ResidualNormReference(x, residual, gain, bias, 1e-5, 0, nil))
	})
}

// TestResidualNormInFloat64 checks the path that gradients by differences take.
func TestResidualNormInFloat64(t *testing.T) {
	torch.Test(t, func() {
		draw := torch.NewStream(2, "inputs")
		inputs := []torch.Tensor{
			draw.Normal(0, 1, torch.Float64, device, 4, 7), draw.Normal(0, 1, torch.Float64, device, 4, 7),
			draw.Normal(1, 0.1, torch.Float64, device, 7), draw.Normal(0, 0.1, torch.Float64, device, 7),
		}
		weights := draw.Normal(0, 1, torch.Float64, device, 4, 7)
		checkGradients(t, "float64", inputs, func(in []torch.Tensor) torch.Tensor {
			return torch.ResidualNorm(in[0], in[1], in[2], in[3], 1e-5, 0.3,
				torch.NewStream(1, "dropout")).Mul(weights).Sum()
		})
	})
}

func TestResidualNormRefusesShapes(t *testing.T) {
	ofCPU(t)
	torch.Test(t, func() {
		zeros := func(shape ...int64) torch.Tensor { return torch.Zeros(torch.Float32, device, shape...) }
		for what, f := range map[string]func(){
			"residual":     func() { torch.ResidualNorm(zeros(4, 7), zeros(7), zeros(7), zeros(7), 1e-5, 0, nil) },
			"short gain":   func() { torch.ResidualNorm(zeros(4, 7), zeros(4, 7), zeros(6), zeros(7), 1e-5, 0, nil) },
			"bias of one":  func() { torch.ResidualNorm(zeros(4, 7), zeros(4, 7), zeros(7), zeros(1), 1e-5, 0, nil) },
			"no width":     func() { torch.ResidualNorm(zeros(4, 0), zeros(4, 0), zeros(0), zeros(0), 1e-5, 0, nil) },
			"no dimension": func() { torch.ResidualNorm(zeros(), zeros(), zeros(1), zeros(1), 1e-5, 0, nil) },
			"rate above one": func() {
				torch.ResidualNorm(zeros(4, 7), zeros(4, 7), zeros(7), zeros(7), 1e-5, 1.5, torch.NewStream(1, ""))
			},
		} {
			err := torch.Try(func() error { f(); return nil })
			if err == nil || !strings.HasPrefix(err.Error(), "ResidualNorm of shapes [") {
				t.Errorf("%s: the error is %v", what, err)
			}
		}
	})
}
