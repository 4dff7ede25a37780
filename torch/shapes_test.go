package torch_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// Legend: as in the files of the operators.

// operator gives results of operands.
type operator = func(in []torch.Tensor) []torch.Tensor

// comparison is a fused operator on operands of drawn shapes, and the plain operators that it has to equal.
type comparison struct {
	operands     []torch.Tensor // in row-major order; one may be the zero Tensor
	fused, plain operator
	values       bool    // there are no gradients
	limit        float64 // as in nearWithin; 0 stands for 1e-4
}

// drawer draws shapes and operands.
type drawer struct {
	*rand.Rand
	stream *torch.Stream
}

// sizes are beside the blocks of kernels, which have 4 to 128 elements.
var sizes = []int64{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 47, 64, 65, 127, 130, 257}

// size is one of the sizes between two.
func (d drawer) size(least, most int64) int64 {
	for {
		if n := sizes[d.IntN(len(sizes))]; n >= least && n <= most {
			return n
		}
	}
}

func (d drawer) normal(scale float64, shape ...int64) torch.Tensor {
	return d.stream.Normal(0, scale, torch.Float32, device, shape...)
}

// maybe is the tensor or, half of the time, the zero Tensor.
func (d drawer) maybe(x torch.Tensor) torch.Tensor {
	if d.IntN(2) == 0 {
		return torch.Tensor{}
	}
	return x
}

// lengths are numbers from 0 to most, or nil.
func (d drawer) lengths(count, most int64) []int64 {
	if d.IntN(2) == 0 {
		return nil
	}
	lengths := make([]int64, count)
	for i := range lengths {
		lengths[i] = d.Int64N(most + 1)
	}
	return lengths
}

// layouts keep the elements of a tensor, and place them in memory otherwise.
var layouts = map[string]func(x torch.Tensor) torch.Tensor{
	"row by row": func(x torch.Tensor) torch.Tensor { return x },
	"transposed": func(x torch.Tensor) torch.Tensor {
		if x.Rank() < 2 {
			return x
		}
		return x.Transpose(-2, -1).Contiguous().Transpose(-2, -1)
	},
	"every second one": func(x torch.Tensor) torch.Tensor {
		shape := x.Shape()
		pairs := x.Reshape(append(slices.Clone(shape), 1)...).Expand(append(slices.Clone(shape), 2)...).Contiguous()
		return pairs.Narrow(-1, 1, 1).Reshape(shape...)
	},
	"part of a larger one": func(x torch.Tensor) torch.Tensor {
		n := x.Size(-1)
		return torch.Cat([]torch.Tensor{x, x}, -1).Narrow(-1, n, n)
	},
}

// results are what f gives of the operands, and then the gradients of a weighted sum of it; zeros where there is none.
func (c comparison) results(f operator, prepare func(torch.Tensor) torch.Tensor) []torch.Tensor {
	in, leaves := slices.Clone(c.operands), []torch.Tensor{}
	for i, x := range in {
		if x.Defined() {
			x = x.Clone()
			x.SetRequiresGrad(!c.values)
			leaves, in[i] = append(leaves, x), prepare(x)
		}
	}
	out := f(in)
	if c.values {
		return out
	}
	draw, sum := torch.NewStream(11, "seeds"), torch.Zeros(torch.Float64, device)
	for _, x := range out {
		seed := draw.Normal(0, 1, torch.Float32, device, x.Shape()...).To(x.DType(), device)
		sum = sum.Add(x.Mul(seed).Sum().To(torch.Float64, device))
	}
	if sum.RequiresGrad() { // results without elements may have no history
		sum.Backward()
	}
	for _, x := range leaves {
		gradient := x.Grad()
		if !gradient.Defined() {
			gradient = torch.Zeros(x.DType(), device, x.Shape()...)
		}
		out = append(out, gradient)
	}
	return out
}

// TestRandomShapes: every fused operator equals plain operators in float64, in value and gradients, for sizes that no
// test has thought of, nothing among them, and for operands that do not lie row by row. APERTURE_TEST_EVERYTHING=1
// draws ten times as many.
func TestRandomShapes(t *testing.T) {
	ofCPU(t)
	count := uint64(6)
	if os.Getenv("APERTURE_TEST_EVERYTHING") == "1" {
		count *= 10
	}
	double := func(x torch.Tensor) torch.Tensor { return x.To(torch.Float64, device) }
	for _, name := range slices.Sorted(maps.Keys(fusedOperators)) {
		t.Run(name, func(t *testing.T) {
			for i := range count {
				torch.Test(t, func() {
					c := fusedOperators[name](drawer{rand.New(rand.NewPCG(38, i)), torch.NewStream(i, name)})
					if c.limit == 0 {
						c.limit = 1e-4
					}
					want := c.results(c.plain, double)
					for layout, lay := range layouts {
						for j, got := range c.results(c.fused, lay) {
							what := fmt.Sprintf("draw %d, %s: result %d of %v", i, layout, j, shapesOf(c.operands))
							nearWithin(t, what, got, want[j], c.limit)
						}
					}
				})
			}
		})
	}
}

func shapesOf(xs []torch.Tensor) (shapes [][]int64) {
	for _, x := range xs {
		if x.Defined() {
			shapes = append(shapes, x.Shape())
		}
	}
	return shapes
}

// finite are numbers as a tensor, where minus infinity is a number that no tolerance takes for another one.
func finite(lists ...[]float64) (out []torch.Tensor) {
	for _, list := range lists {
		list = slices.Clone(list)
		for i, v := range list {
			if math.IsInf(v, -1) {
				list[i] = -99
			}
		}
		out = append(out, torch.FromFloat64s(list, device, int64(len(list))))
	}
	return out
}

// TestRandomAttentionalSteps: the decoder's loop, step by step as a search takes it.
func TestRandomAttentionalSteps(t *testing.T) {
	ofCPU(t)
	for i := range uint64(6) {
		d := drawer{Rand: rand.New(rand.NewPCG(39, i))}
		c := attentionalCase{layers: 1 + d.IntN(3), steps: 3, rows: d.size(1, 17), positions: d.size(1, 33),
			words: d.size(1, 65), width: d.size(1, 130)}
		for len(c.lengths) == 0 {
			c.lengths = d.lengths(c.rows, c.positions)
		}
		c.lengths[0] = max(c.lengths[0], 1)
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) { torch.Test(t, func() { checkAttentionalSteps(t, c) }) })
	}
}

// TestRandomParameters: what changes parameters in place does in float32 what plain operators do in float64.
func TestRandomParameters(t *testing.T) {
	ofCPU(t)
	run := func(seed uint64, dtype torch.DType) (results []torch.Tensor) {
		d := drawer{rand.New(rand.NewPCG(40, seed)), torch.NewStream(seed, "parameters")}
		var params, averages []torch.Tensor
		for range 1 + d.IntN(4) {
			shape := []int64{d.size(0, 257), d.size(0, 65)}
			params = append(params, torch.Parameter(d.normal(1, shape...).To(dtype, device)))
			averages = append(averages, torch.Parameter(d.normal(1, shape...).To(dtype, device)))
		}
		defer torch.Free(append(params, averages...)...)
		differentiate := func() {
			for _, x := range params {
				shape := x.Shape()
				g := d.normal(1, shape[1], shape[0]).To(dtype, device).Transpose(0, 1)
				setGrad(x, g)
			}
		}
		report := func(xs []torch.Tensor) {
			for _, x := range xs {
				results = append(results, x.Detach().Clone())
			}
		}
		differentiate()
		dynamic := torch.NewDynamic(params)
		defer dynamic.Free()
		dynamic.Collect()
		dynamic.Finish()
		dynamic.Rate, dynamic.Decay, dynamic.Epsilon = 0.01, 0.1, 1e-3
		adam := torch.NewAdam(params, torch.AdamOptions{Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-6,
			WeightDecay: 0.1 * float64(d.IntN(2)), Decoupled: d.IntN(2) == 0})
		defer adam.Free()
		for _, step := range []func(){dynamic.Step, func() { torch.SGD(params, 0.1, 0.01) }, func() { adam.Step(0.01) },
			func() { adam.Step(0.01) }, func() { torch.Lerp(averages, params, 0.3) }} {
			differentiate()
			results = append(results, torch.ClipGrad(params, 1))
			step()
			report(params)
		}
		report(averages)
		return results
	}
	for i := range uint64(12) {
		torch.Test(t, func() {
			want := run(i, torch.Float64)
			for j, got := range run(i, torch.Float32) {
				nearWithin(t, fmt.Sprintf("draw %d: result %d of shape %v", i, j, got.Shape()), got, want[j], 2e-5)
			}
		})
	}
}
