package torch_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// attentionalCase is a shape of the decoder's loop.
type attentionalCase struct {
	layers                               int
	steps, rows, positions, words, width int64
	lengths                              []int64
	between, output                      int64 // steps of the masks; 0 for none
	noState                              bool
}

type attentionalRun func(d torch.AttentionalDecoder, words, memory torch.Tensor, lengths []int64, h,
	c []torch.Tensor) torch.Tensor

// attentionalInputs draws all operands of a case from one seed: words, memory, query,
// mix, and for each layer its four weights and its state.
func attentionalInputs(c attentionalCase, dtype torch.DType) []torch.Tensor {
	draw := torch.NewStream(5, "inputs")
	normal := func(scale float64, shape ...int64) torch.Tensor {
		return draw.Normal(0, scale, torch.Float64, device, shape...).To(dtype, device)
	}
	small := min(0.3, 1.5/math.Sqrt(float64(c.width))) // wide attention would hang on the last digits of its scores
	memory := normal(1, c.rows, c.positions, c.width)
	if c.lengths != nil {
		real := make([]float64, c.rows*c.positions)
		for i := range real {
			if int64(i)%c.positions < c.lengths[int64(i)/c.positions] {
				real[i] = 1
			}
		}
		memory = memory.Mul(torch.FromFloat64s(real, device, c.rows, c.positions, 1).To(dtype, device))
	}
	inputs := []torch.Tensor{normal(1, c.steps, c.rows, c.words), memory, normal(small, c.width, c.width),
		normal(small, c.width, 2*c.width)}
	in := c.words + c.width
	for range c.layers {
		inputs = append(inputs, normal(small, 4*c.width, in), normal(small, 4*c.width, c.width), normal(0.5, 4*c.width),
			normal(0.5, 4*c.width),
			normal(1, c.rows, c.width), normal(1, c.rows, c.width))
		in = c.width
	}
	return inputs
}

// run applies f to the inputs that attentionalInputs drew, with masks from one seed.
func (c attentionalCase) run(f attentionalRun, in []torch.Tensor) torch.Tensor {
	draw := torch.NewStream(7, "masks")
	mask := func(steps int64) torch.Tensor {
		if steps == 0 {
			return torch.Tensor{}
		}
		ones := torch.Full(1, torch.Float64, device, steps, c.rows, c.width)
		return torch.Dropout(ones, 0.3, draw).To(in[0].DType(), device)
	}
	d := torch.AttentionalDecoder{Query: in[2], Mix: in[3], Output: mask(c.output)}
	var h, cell []torch.Tensor
	for i := range c.layers {
		w := in[4+6*i:]
		d.Layers = append(d.Layers, torch.LSTMWeights{Input: w[0], Hidden: w[1], InputBias: w[2], HiddenBias: w[3]})
		if c.noState {
			w = make([]torch.Tensor, 6)
		}
		h, cell = append(h, w[4]), append(cell, w[5])
		if i > 0 && c.between > 0 {
			d.Between = append(d.Between, mask(c.between))
		}
	}
	return f(d, in[0], in[1], c.lengths, h, cell)
}

// results gives the states and every gradient of a weighted sum of them, in float32.
func (c attentionalCase) results(f attentionalRun) []torch.Tensor {
	in := attentionalInputs(c, torch.Float32)
	for _, x := range in {
		x.SetRequiresGrad(true)
	}
	out := c.run(f, in)
	seeds := torch.NewStream(6, "seeds").Normal(0, 1, torch.Float32, device, out.Shape()...)
	out.Mul(seeds).Sum().Backward()
	results := []torch.Tensor{out}
	for i, x := range in {
		if !c.noState || i < 4 || (i-4)%6 < 4 {
			results = append(results, x.Grad())
		}
	}
	return results
}

// TestAttentionalEqualsPyTorch: values and every gradient, with ragged sources and masks.
func TestAttentionalEqualsPyTorch(t *testing.T) {
	for kind, f := range map[string]attentionalRun{"fused": torch.AttentionalDecoder.Run,
		"reference": torch.AttentionalDecoder.RunReference} {
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
			t.Run(fmt.Sprintf("%s/%s", kind, dtype), func(t *testing.T) {
				torch.Test(t, func() {
					g, _ := golden(t, "attentional.safetensors")
					get := func(key string) torch.Tensor { return g[key].To(dtype, device) }
					leaves := map[string]torch.Tensor{}
					leaf := func(key string) torch.Tensor {
						leaves[key] = get(key).Clone()
						leaves[key].SetRequiresGrad(true)
						return leaves[key]
					}
					d := torch.AttentionalDecoder{Query: leaf("query"), Mix: leaf("mix"),
						Between: []torch.Tensor{get("between")}, Output: get("output")}
					var h, c []torch.Tensor
					for _, layer := range []string{"0/", "1/"} {
						d.Layers = append(d.Layers,
							torch.LSTMWeights{Input: leaf(layer + "weight_ih"), Hidden: leaf(layer + "weight_hh"),
								InputBias: leaf(layer + "bias_ih"), HiddenBias: leaf(layer + "bias_hh")})
						h, c = append(h, leaf(layer+"h")), append(c, leaf(layer+"c"))
					}
					out := f(d, leaf("words"), leaf("memory"), g["lengths"].Int64s(), h, c)
					near(t, "states", out, get("out"))
					out.Mul(get("seed")).Sum().Backward()
					for key, x := range leaves {
						near(t, "gradient of "+key, x.Grad(), get("grad/"+key))
					}
				})
			})
		}
	}
}

// TestAttentionalEqualsReference: one step, one column, one source word, layers 1 to 3,
// ragged sources, one of them empty, masks for all steps and for each, and widths beside
// the kernels' blocks.
func TestAttentionalEqualsReference(t *testing.T) {
	for _, c := range []attentionalCase{
		{layers: 1, steps: 1, rows: 1, positions: 1, words: 1, width: 1},
		{layers: 2, steps: 3, rows: 2, positions: 1, words: 3, width: 5},
		{layers: 1, steps: 5, rows: 1, positions: 7, words: 4, width: 16, between: 0, output: 5},
		{layers: 2, steps: 9, rows: 20, positions: 6, words: 31, width: 47},
		{layers: 2, steps: 7, rows: 5, positions: 9, words: 8, width: 33, lengths: []int64{9, 1, 4, 7, 2}, between: 7,
			output: 7},
		{layers: 3, steps: 6, rows: 4, positions: 5, words: 17, width: 32, lengths: []int64{5, 0, 3, 4}, between: 1,
			output: 1},
		{layers: 3, steps: 4, rows: 17, positions: 3, words: 5, width: 70, between: 4, noState: true},
		{layers: 1, steps: 2, rows: 3, positions: 4, words: 9, width: 100, output: 1, noState: true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			torch.Test(t, func() {
				want := c.results(torch.AttentionalDecoder.RunReference)
				for i, got := range c.results(torch.AttentionalDecoder.Run) {
					nearWithin(t, fmt.Sprintf("result %d", i), got, want[i], 5e-5)
				}
			})
		})
	}
}

// TestAttentionalGradientsByDifferences checks the loop that float64 takes.
func TestAttentionalGradientsByDifferences(t *testing.T) {
	torch.Test(t, func() {
		for _, c := range []attentionalCase{
			{layers: 2, steps: 3, rows: 2, positions: 3, words: 2, width: 3, between: 3, output: 3},
			{layers: 1, steps: 2, rows: 3, positions: 4, words: 1, width: 2, lengths: []int64{4, 1, 3}, output: 1},
		} {
			checkGradients(t, "float64", attentionalInputs(c, torch.Float64), func(in []torch.Tensor) torch.Tensor {
				return c.run(torch.AttentionalDecoder.Run, in).Square().Sum()
			})
		}
	})
}

// TestAttentionalThreads: results and gradients have the same bits for any number of threads.
func TestAttentionalThreads(t *testing.T) {
	if os.Getenv("APERTURE_MKL_BY_MAKER") != "" || os.Getenv("MKL_CBWR") != "" {
		t.Skip("APERTURE_MKL_BY_MAKER or MKL_CBWR is set: MKL may cut its products by the number of threads")
	}
	defer torch.SetThreads(0)
	for _, c := range []attentionalCase{
		{layers: 2, steps: 6, rows: 20, positions: 11, words: 40, width: 150, between: 6, output: 6},
		{layers: 2, steps: 12, rows: 5, positions: 9, words: 100, width: 301, lengths: []int64{9, 1, 4, 7, 2}},
		{layers: 1, steps: 9, rows: 1, positions: 30, words: 31, width: 470},
		{layers: 1, steps: 30, rows: 60, positions: 33, words: 16, width: 192},
		{layers: 2, steps: 40, rows: 40, positions: 5, words: 6, width: 9}, // a bias's gradient of 32 + 4 columns
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			torch.Test(t, func() {
				torch.SetThreads(1)
				single := c.results(torch.AttentionalDecoder.Run)
				for _, threads := range []int{2, 3, 5} {
					torch.SetThreads(threads)
					for i, several := range c.results(torch.AttentionalDecoder.Run) {
						if !slices.Equal(single[i].Float32s(), several.Float32s()) {
							t.Errorf("result %d differs between 1 and %d threads", i, threads)
						}
					}
				}
			})
		})
	}
}

// TestAttentionalChanged: states that were changed before the way back give no gradient.
func TestAttentionalChanged(t *testing.T) {
	ofCPU(t)
	torch.Test(t, func() {
		c := attentionalCase{layers: 1, steps: 3, rows: 2, positions: 4, words: 5, width: 6}
		in := attentionalInputs(c, torch.Float32)
		for _, x := range in {
			x.SetRequiresGrad(true)
		}
		y := c.run(torch.AttentionalDecoder.Run, in)
		y.Assign(torch.Zeros(torch.Float32, device, 3, 2, 6))
		if err := torch.Try(func() error { y.Sum().Backward(); return nil }); err == nil {
			t.Error("changed states are differentiated")
		}
	})
}

// TestAttentionalFrees: a step's tensors end with its scope, on the C++ side too.
func TestAttentionalFrees(t *testing.T) {
	torch.Test(t, func() {
		c := attentionalCase{layers: 2, steps: 5, rows: 6, positions: 4, words: 8, width: 16, between: 5, output: 5,
			lengths: []int64{4, 1, 2, 3, 0, 4}}
		before := torch.LiveBytes()
		for range 3 {
			step := torch.OpenScope()
			c.results(torch.AttentionalDecoder.Run)
			c.run(torch.AttentionalDecoder.Run, attentionalInputs(c, torch.Float32)) // without a way back
			step.Close()
		}
		if left := torch.LiveBytes() - before; left != 0 {
			t.Errorf("%d bytes are left", left)
		}
	})
}

// TestAttentionalOfNothing: no words, or no sentences, make no states.
func TestAttentionalOfNothing(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
			for _, size := range [][2]int64{{0, 3}, {4, 0}} {
				c := attentionalCase{layers: 2, steps: size[0], rows: size[1], positions: 4, words: 2, width: 5}
				out := c.run(torch.AttentionalDecoder.Run, attentionalInputs(c, dtype))
				if got, want := fmt.Sprint(out.Shape()), fmt.Sprint([]int64{size[0], size[1], 5}); got != want {
					t.Errorf("%s: the shape is %s and must be %s", dtype, got, want)
				}
			}
		}
	})
}

// TestAttentionalMasksOfAnotherType: masks need not have the operands' type.
func TestAttentionalMasksOfAnotherType(t *testing.T) {
	torch.Test(t, func() {
		c := attentionalCase{layers: 2, steps: 3, rows: 2, positions: 4, words: 2, width: 5, between: 3, output: 1}
		in := attentionalInputs(c, torch.Float32)
		want := c.run(torch.AttentionalDecoder.Run, in)
		for _, last := range []bool{false, true} {
			near(t, "masks of float64", c.run(func(d torch.AttentionalDecoder, words, memory torch.Tensor, lengths []int64,
				h, c []torch.Tensor) torch.Tensor {
				if last {
					d.Output = d.Output.To(torch.Float64, device)
				} else {
					d.Between = []torch.Tensor{d.Between[0].To(torch.Float64, device)}
				}
				return d.Run(words, memory, lengths, h, c)
			}, in), want)
		}
	})
}

func TestAttentionalRefusesShapes(t *testing.T) {
	torch.Test(t, func() {
		for _, test := range []struct {
			c    attentionalCase
			says string
		}{
			{attentionalCase{layers: 1, steps: 2, rows: 3, positions: 4, words: 2, width: 5, lengths: []int64{1, 2, 5}},
				"a source of 5 words does not fit 4 positions"},
			{attentionalCase{layers: 1, steps: 4, rows: 3, positions: 4, words: 2, width: 5, output: 3},
				"the mask of attentional states has the shape [3 3 5] and must have [4 3 5]"},
		} {
			in := attentionalInputs(test.c, torch.Float32)
			err := torch.Try(func() error {
				test.c.run(torch.AttentionalDecoder.Run, in)
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v", err)
			}
		}
	})
}
