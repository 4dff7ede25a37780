package torch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

type repeatedLinear func(x, matrix, addend torch.Tensor) torch.Tensor

// recur runs a recurrence h_t = tanh(h_{t-1} W^T + a_t), with a last step that adds
// nothing, and sums what its steps weigh.
func recur(f repeatedLinear, h, matrix torch.Tensor, addends []torch.Tensor, seeds torch.Tensor) torch.Tensor {
	loss := torch.Zeros(h.DType(), device)
	for _, a := range slices.Concat(addends, []torch.Tensor{{}}) {
		h = f(h, matrix, a).Tanh()
		loss = loss.Add(h.Mul(seeds).Sum())
	}
	return loss
}

// TestRepeatedLinearEqualsReference: value and every gradient, for matrices and batches of
// them, where the matrix is used elsewhere too.
func TestRepeatedLinearEqualsReference(t *testing.T) {
	for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
		for _, shape := range [][]int64{{1, 1}, {4, 31}, {64, 47}, {3, 1, 5}, {2, 4, 31}} {
			t.Run(fmt.Sprint(dtype, shape), func(t *testing.T) {
				torch.Test(t, func() {
					width := shape[len(shape)-1]
					square := slices.Concat(shape[:len(shape)-2], []int64{width, width})
					run := func(f repeatedLinear, prepare func(torch.Tensor) torch.Tensor) []torch.Tensor {
						draw := torch.NewStream(3, "inputs")
						normal := func(shape ...int64) torch.Tensor {
							return draw.Normal(0, 1, dtype, device,
								shape...)
						}
						w := normal(square...).MulScalar(0.3)
						leaves := []torch.Tensor{normal(shape...), normal(shape...), normal(shape...), w}
						for i, x := range leaves {
							leaves[i] = x.Detach()
							leaves[i].SetRequiresGrad(true)
						}
						matrix := prepare(leaves[3])
						loss := recur(f, leaves[0], matrix, leaves[1:3], normal(shape...)).Add(matrix.Square().Sum())
						loss.Backward()
						results := []torch.Tensor{loss}
						for _, x := range leaves {
							results = append(results, x.Grad())
						}
						return results
					}
					want := run(torch.RepeatedLinearReference, func(w torch.Tensor) torch.Tensor { return w })
					for i, got := range run(torch.RepeatedLinear, torch.Repeated) {
						near(t, fmt.Sprintf("result %d", i), got, want[i])
					}
				})
			})
		}
	}
}

func TestRepeatedLinearGradientsByDifferences(t *testing.T) {
	torch.Test(t, func() {
		draw := torch.NewStream(2, "inputs")
		normal := func(shape ...int64) torch.Tensor { return draw.Normal(0, 1, torch.Float64, device, shape...) }
		inputs := []torch.Tensor{normal(2, 3), normal(3, 3), normal(2, 3)}
		seeds := normal(2, 3)
		checkGradients(t, "float64", inputs, func(in []torch.Tensor) torch.Tensor {
			return recur(torch.RepeatedLinear, in[0], torch.Repeated(in[1]), in[2:3], seeds)
		})
	})
}

// TestRepeatedLinearWithoutGradients: in evaluation, with a frozen matrix, and with one
// that was not prepared, products are what they are, and inputs still get gradients.
func TestRepeatedLinearWithoutGradients(t *testing.T) {
	torch.Test(t, func() {
		draw := torch.NewStream(2, "inputs")
		x, w := torch.Parameter(draw.Normal(0, 1, torch.Float32, device, 4, 7)),
			draw.Normal(0, 1, torch.Float32, device, 5, 7)
		defer torch.Free(x)
		want := torch.RepeatedLinearReference(x.Detach(), w, torch.Tensor{})
		for name, matrix := range map[string]torch.Tensor{"frozen": torch.Repeated(w), "plain": w} {
			torch.ZeroGrad([]torch.Tensor{x})
			y := torch.RepeatedLinear(x, matrix, torch.Tensor{})
			near(t, name, y.Detach(), want)
			y.Sum().Backward()
			near(t, name+": gradient of x", x.Grad(), w.SumDim(0, true).Expand(4, 7))
		}
		w.SetRequiresGrad(true)
		torch.NoGrad(func() {
			y := torch.RepeatedLinear(x, torch.Repeated(w), torch.Tensor{})
			near(t, "evaluation", y, want)
			if y.RequiresGrad() {
				t.Error("a product in evaluation records gradients")
			}
		})
	})
}

// TestRepeatedLinearUnused: a matrix that no step used, and one of whose steps only some
// count, get the gradients of those.
func TestRepeatedLinearUnused(t *testing.T) {
	torch.Test(t, func() {
		draw := torch.NewStream(2, "inputs")
		x, w := draw.Normal(0, 1, torch.Float32, device, 4, 7),
			torch.Parameter(draw.Normal(0, 1, torch.Float32, device, 5, 7))
		defer torch.Free(w)
		torch.Repeated(w).Sum().Backward()
		near(t, "no step", w.Grad(), torch.Full(1, torch.Float32, device, 5, 7))
		torch.ZeroGrad([]torch.Tensor{w})
		matrix := torch.Repeated(w)
		torch.RepeatedLinear(x.MulScalar(9), matrix, torch.Tensor{})
		torch.RepeatedLinear(x, matrix, torch.Tensor{}).Sum().Backward()
		near(t, "one step of two", w.Grad(), x.SumDim(0, true).Expand(5, 7))
	})
}

// TestRepeatedLinearPartly: where a part of the graph is differentiated by itself, and not for the matrix, that part
// adds nothing to the matrix's gradient.
func TestRepeatedLinearPartly(t *testing.T) {
	torch.Test(t, func() {
		draw := torch.NewStream(2, "partly")
		normal := func(shape ...int64) torch.Tensor { return draw.Normal(0, 1, torch.Float32, device, shape...) }
		w, x, hidden, weight := normal(3, 3), normal(2, 3), normal(2, 3), normal(5, 3)
		w.SetRequiresGrad(true)
		hidden.SetRequiresGrad(true)
		gradient := func(linear repeatedLinear, matrix torch.Tensor) torch.Tensor {
			torch.ZeroGrad([]torch.Tensor{w})
			loss, _ := torch.ScoreLoss(
				torch.LossOperands{Hidden: hidden, Weight: weight, Targets: torch.FromInt64s([]int64{0, 1}, device, 2)},
				torch.SoftmaxLossOptions{Ignore: -1, Scale: 1}, func(c torch.ScoreChunk) (torch.Tensor, []torch.Tensor) {
					return linear(c.Scores.Narrow(1, 0, 3), matrix, torch.Tensor{}).Square().SumDim(1, false), nil
				})
			loss.Add(linear(x, matrix, torch.Tensor{}).Sum()).Backward()
			return w.Grad().Clone()
		}
		want := gradient(torch.RepeatedLinearReference, w)
		near(t, "the matrix's gradient", gradient(torch.RepeatedLinear, torch.Repeated(w)), want)
	})
}

// TestRepeatedLinearLeavesNothing: the steps of a recurrence are gone with their scope.
func TestRepeatedLinearLeavesNothing(t *testing.T) {
	torch.Test(t, func() {
		w := torch.Parameter(torch.NewStream(1, "w").Normal(0, 0.1, torch.Float32, device, 64, 64))
		defer torch.Free(w)
		update := func() {
			scope := torch.OpenScope()
			defer scope.Close()
			h := torch.Full(1, torch.Float32, device, 16, 64)
			recur(torch.RepeatedLinear, h, torch.Repeated(w), nil, h).Backward()
			torch.ZeroGrad([]torch.Tensor{w})
		}
		update()
		handles, bytes := torch.LiveHandles(), torch.LiveBytes()
		for range 20 {
			update()
		}
		if h, b := torch.LiveHandles(), torch.LiveBytes(); h != handles || b != bytes {
			t.Errorf("%d tensors and %d bytes are left", h-handles, b-bytes)
		}
	})
}

func TestRepeatedLinearRefusesShapes(t *testing.T) {
	torch.Test(t, func() {
		zeros := func(shape ...int64) torch.Tensor { return torch.Zeros(torch.Float32, device, shape...) }
		for what, f := range map[string]func(){
			"a vector":     func() { torch.Repeated(zeros(4)) },
			"other inputs": func() { torch.RepeatedLinear(zeros(2, 3), torch.Repeated(zeros(5, 4)), torch.Tensor{}) },
			"other batches": func() {
				torch.RepeatedLinear(zeros(2, 1, 4), torch.Repeated(zeros(3, 5, 4)),
					torch.Tensor{})
			},
			"other addend": func() { torch.RepeatedLinear(zeros(2, 4), torch.Repeated(zeros(5, 4)), zeros(1, 5)) },
		} {
			if err := torch.Try(func() error { f(); return nil }); err == nil ||
				!strings.HasPrefix(err.Error(), "Repeated") {
				t.Errorf("%s: the error is %v", what, err)
			}
		}
	})
}
