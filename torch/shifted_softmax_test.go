package torch_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// shiftedCase is a lossCase with a shift for each row, of which some are 0.
type shiftedCase struct {
	lossCase
	shift torch.Tensor
}

func newShiftedCase(r *rand.Rand, n, d, v int64, withBias bool) shiftedCase {
	c := shiftedCase{lossCase: newLossCase(r, n, d, v, withBias)}
	shifts := make([]float64, n)
	for i := range shifts {
		shifts[i] = math.Max(0, 5*r.Float64()-1)
	}
	c.shift = torch.FromFloat64s(shifts, device, n)
	return c
}

var shiftedResults = []string{"loss", "nll", "shifted nll", "gradient of hidden", "gradient of weight",
	"gradient of the shift", "gradient of bias"}

type shiftedFunction func(hidden, weight, bias, targets, shift torch.Tensor, o torch.SoftmaxLossOptions) (loss, nll,
	shifted torch.Tensor)

func (c shiftedCase) run(f shiftedFunction, dtype torch.DType) []torch.Tensor {
	return withGradients(dtype, func(in []torch.Tensor) []torch.Tensor {
		loss, nll, shifted := f(in[0], in[1], in[3], c.targets, in[2], c.options)
		return []torch.Tensor{loss, nll, shifted}
	}, c.hidden, c.weight, c.shift, c.bias)
}

func TestShiftedSoftmaxLossGradientsByDifferences(t *testing.T) {
	torch.Test(t, func() {
		for kind := range torch.Smoothing(3) {
			c := newShiftedCase(rand.New(rand.NewPCG(3, uint64(kind))), 7, 3, 5, true)
			c.options.Smoothing, c.options.Epsilon, c.options.Chunk = kind, 0.1, 3
			checkGradients(t, fmt.Sprint("smoothing ", kind), []torch.Tensor{c.hidden, c.weight, c.bias, c.shift},
				func(in []torch.Tensor) torch.Tensor {
					loss, _, _ := torch.ShiftedSoftmaxLoss(in[0], in[1], in[2], c.targets, in[3], c.options)
					return loss.MulScalar(1.5)
				})
		}
	})
}

// TestShiftOfNothing: a shift of 0 changes not one bit, and elsewhere than on the CPU, where sums run in another order,
// next to nothing.
func TestShiftOfNothing(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
			c := newShiftedCase(rand.New(rand.NewPCG(5, 6)), 100, 31, 47, true)
			c.options.Epsilon = 0.1
			c.shift = torch.Zeros(torch.Float64, device, 100)
			want, got := c.lossCase.run(torch.SoftmaxLoss, dtype), c.run(torch.ShiftedSoftmaxLoss, dtype)
			for i, j := range map[int]int{0: 0, 1: 1, 2: 1, 3: 2, 4: 3, 6: 4} {
				if device != torch.CPU {
					near(t, fmt.Sprintf("%v: the %s", dtype, shiftedResults[i]), got[i], want[j])
				} else if !slices.Equal(got[i].Float64s(), want[j].Float64s()) {
					t.Errorf("%v: the %s differs", dtype, shiftedResults[i])
				}
			}
		}
	})
}

// TestShiftedNLL: the clean likelihood does not know of the shift, whatever its
// size, and the shifted one is never higher.
func TestShiftedNLL(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
			for _, size := range []float64{1e-3, 1, 10, 80, 1000, 1e6} {
				c := newShiftedCase(rand.New(rand.NewPCG(9, 1)), 60, 7, 31, true)
				c.shift = c.shift.MulScalar(size)
				if device != torch.CPU && dtype == torch.Float32 && size > 1000 {
					continue // a shifted logit of float32 is known to 0.06 there
				}
				plain, results := c.lossCase.run(torch.SoftmaxLoss, dtype), c.run(torch.ShiftedSoftmaxLoss, dtype)
				near(t, fmt.Sprint("nll under shifts of ", size), results[1], plain[1])
				clean, shifted := results[1].Float64s(), results[2].Float64s()
				for i := range clean {
					if !(shifted[i] >= clean[i]) {
						t.Errorf("%v, shifts of %v: row %d has nll %v with its shift, %v without", dtype, size, i,
							shifted[i], clean[i])
					}
				}
				for i, x := range results {
					if !x.AllFinite() {
						t.Errorf("%v, shifts of %v: the %s is not finite", dtype, size, shiftedResults[i])
					}
				}
			}
		}
	})
}

// TestWhatTheSmoothedMassSees: it sees clean scores, so that a shift never lowers a row's loss.
func TestWhatTheSmoothedMassSees(t *testing.T) {
	torch.Test(t, func() {
		hidden, weight := torch.Full(1, torch.Float64, device, 1, 1),
			torch.FromFloat64s([]float64{9, 0, 0, 0, 0}, device, 5, 1)
		target := torch.FromInt64s([]int64{0}, device, 1)
		for kind := range torch.Smoothing(3) {
			o := torch.SoftmaxLossOptions{Ignore: -1, Smoothing: kind, Epsilon: 0.1, Scale: 1}
			at := func(shift float64) float64 {
				loss, _, _ := torch.ShiftedSoftmaxLoss(hidden, weight, torch.Tensor{}, target,
					torch.Full(shift, torch.Float64, device, 1), o)
				return loss.Item()
			}
			if at(0.5) <= at(0) {
				t.Errorf("smoothing %d: the loss goes from %v to %v", kind, at(0), at(0.5))
			}
		}
	})
}

func TestShiftedSoftmaxLossOfNothing(t *testing.T) {
	torch.Test(t, func() {
		nothing := newShiftedCase(rand.New(rand.NewPCG(5, 6)), 0, 3, 5, true)
		ignored := newShiftedCase(rand.New(rand.NewPCG(5, 6)), 4, 3, 5, true)
		ignored.targets = torch.FromInt64s([]int64{ignoredTarget, ignoredTarget, ignoredTarget, ignoredTarget}, device,
			4)
		word := newShiftedCase(rand.New(rand.NewPCG(5, 6)), 4, 3, 1, false)
		word.options.Ignore = -1
		for what, c := range map[string]shiftedCase{"no rows": nothing, "ignored rows": ignored, "one word": word} {
			for i, x := range c.run(torch.ShiftedSoftmaxLoss, torch.Float64) {
				for _, v := range x.Float64s() {
					if math.Abs(v) > 1e-12 {
						t.Errorf("%s: the %s has %v, want 0", what, shiftedResults[i], v)
					}
				}
			}
		}
	})
}

func TestShiftedSoftmaxLossRefuses(t *testing.T) {
	torch.Test(t, func() {
		c := newShiftedCase(rand.New(rand.NewPCG(5, 6)), 4, 3, 5, false)
		for _, shape := range [][]int64{{3}, {4, 1}, {}} {
			err := torch.Try(func() error {
				torch.ShiftedSoftmaxLoss(c.hidden, c.weight, c.bias, c.targets,
					torch.Zeros(torch.Float64, device, shape...), c.options)
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), "do not fit shifts of shape") {
				t.Errorf("shifts of shape %v: the error is %v", shape, err)
			}
		}
	})
}
