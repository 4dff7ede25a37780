package torch_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

type lstm func(x, h, c torch.Tensor, w torch.LSTMWeights, o torch.LSTMOptions) (out, hN, cN torch.Tensor)

var lstms = map[string]lstm{"fused": torch.LSTM, "reference": torch.LSTMReference}

// TestLSTMEqualsPyTorch: values and every gradient, plain, ragged and backwards.
func TestLSTMEqualsPyTorch(t *testing.T) {
	for _, name := range []string{"plain", "ragged", "reverse"} {
		for kind, f := range lstms {
			for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
				t.Run(fmt.Sprintf("%s/%s/%s", name, kind, dtype), func(t *testing.T) {
					torch.Test(t, func() {
						g, _ := golden(t, "lstm.safetensors")
						get := func(key string) torch.Tensor { return g[name+"/"+key].To(dtype, device) }
						leaf := func(key string) torch.Tensor {
							x := get(key).Clone()
							x.SetRequiresGrad(true)
							return x
						}
						keys := []string{"x", "h", "c", "weight_ih", "weight_hh", "bias_ih", "bias_hh"}
						var in []torch.Tensor
						for _, key := range keys {
							in = append(in, leaf(key))
						}
						o := torch.LSTMOptions{Reverse: name == "reverse"}
						if name != "plain" {
							o.Lengths = g[name+"/lengths"].Int64s()
						}
						out, h, c := f(in[0], in[1], in[2],
							torch.LSTMWeights{Input: in[3], Hidden: in[4], InputBias: in[5], HiddenBias: in[6]}, o)
						near(t, "output", out, get("out"))
						near(t, "h", h, get("h_n"))
						near(t, "c", c, get("c_n"))
						out.Mul(get("seed/out")).Sum().Add(h.Mul(get("seed/h_n")).Sum()).Add(
							c.Mul(get("seed/c_n")).Sum()).Backward()
						for i, key := range keys {
							near(t, "gradient of "+key, in[i].Grad(), get("grad/"+key))
						}
					})
				})
			}
		}
	}
}

func TestLSTMRefusesLengths(t *testing.T) {
	torch.Test(t, func() {
		zeros := func(shape ...int64) torch.Tensor { return torch.Zeros(torch.Float32, device, shape...) }
		w := torch.LSTMWeights{Input: zeros(12, 2), Hidden: zeros(12, 3), InputBias: zeros(12), HiddenBias: zeros(12)}
		for kind, f := range lstms {
			for _, lengths := range [][]int64{{}, {1, 2}} {
				err := torch.Try(func() error {
					f(zeros(4, 5, 2), torch.Tensor{}, torch.Tensor{}, w, torch.LSTMOptions{Lengths: lengths})
					return nil
				})
				want := fmt.Sprintf("there are %d lengths for 5 columns", len(lengths))
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: the error is %v, not %q", kind, err, want)
				}
			}
		}
		for _, steps := range []int64{-1, 5} {
			err := torch.Try(func() error {
				torch.LSTM(zeros(4, 2, 2), torch.Tensor{}, torch.Tensor{}, w, torch.LSTMOptions{Lengths: []int64{1, steps}, Reverse: true})
				return nil
			})
			if want := fmt.Sprintf("a column has %d steps of 4", steps); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, not %q", err, want)
			}
		}
	})
}

// lstmCase is a shape of the fused layer's comparison with its reference.
type lstmCase struct {
	steps, columns, in, width int64
	drop                      float64
	weights                   float64 // their standard deviation; 0 is 0.5
	lengths                   []int64
	reverse, zeroState        bool
}

// runLSTM gives the results and gradients of a layer drawn from one seed, in
// float32. The weights for the sum that is differentiated are drawn too.
func runLSTM(f lstm, c lstmCase) []torch.Tensor {
	draw := torch.NewStream(5, "inputs")
	normal := func(scale float64, shape ...int64) torch.Tensor {
		return draw.Normal(0, scale, torch.Float32, device, shape...)
	}
	leaves := []torch.Tensor{
		normal(1, c.steps, c.columns, c.in), normal(1, c.columns, c.width), normal(2, c.columns, c.width),
		normal(cmp.Or(c.weights, 0.5), 4*c.width, c.in), normal(cmp.Or(c.weights, 0.5), 4*c.width, c.width),
		normal(1, 4*c.width), normal(1, 4*c.width),
	}
	for _, x := range leaves {
		x.SetRequiresGrad(true)
	}
	seeds := []torch.Tensor{normal(1, c.steps, c.columns, c.width), normal(1, c.columns, c.width),
		normal(1, c.columns, c.width)}
	h, cell := leaves[1], leaves[2]
	if c.zeroState {
		h, cell = torch.Tensor{}, torch.Tensor{}
	}
	out, hN, cN := f(leaves[0], h, cell, torch.LSTMWeights{Input: leaves[3], Hidden: leaves[4], InputBias: leaves[5],
		HiddenBias: leaves[6]},
		torch.LSTMOptions{WeightDrop: c.drop, Stream: torch.NewStream(9, "dropout"), Lengths: c.lengths,
			Reverse: c.reverse})
	results := []torch.Tensor{out, hN, cN}
	loss := torch.Zeros(torch.Float32, device)
	for i, x := range results {
		loss = loss.Add(x.Mul(seeds[i]).Sum())
	}
	loss.Backward()
	for i, x := range leaves {
		if !c.zeroState || i == 0 || i > 2 {
			results = append(results, x.Grad())
		}
	}
	return results
}

// lstmCases are shapes beside and between the kernels' blocks, few and many steps, dropped weights, ragged columns,
// both directions, and no step at all.
var lstmCases = []lstmCase{
	{steps: 1, columns: 1, in: 1, width: 1},
	{steps: 5, columns: 4, in: 3, width: 16},
	{steps: 9, columns: 20, in: 31, width: 47, drop: 0.5},
	{steps: 9, columns: 3, in: 31, width: 47, drop: 0.5, reverse: true},
	{steps: 1, columns: 3, in: 31, width: 47, drop: 0.5},
	{steps: 5, columns: 1, in: 4, width: 33, drop: 0.2},
	{steps: 3, columns: 20, in: 8, width: 70, drop: 0.3, zeroState: true},
	{steps: 6, columns: 17, in: 8, width: 288, drop: 0.3, zeroState: true, reverse: true},
	{steps: 5, columns: 29, in: 7, width: 33},
	{steps: 7, columns: 5, in: 7, width: 33, lengths: []int64{7, 0, 3, 1, 6}},
	{steps: 7, columns: 5, in: 7, width: 33, lengths: []int64{7, 0, 3, 1, 6}, reverse: true, drop: 0.2},
	{steps: 7, columns: 2, in: 7, width: 33, lengths: []int64{2, 7}, reverse: true},
	{steps: 0, columns: 5, in: 7, width: 33},
	{steps: 0, columns: 2, in: 7, width: 33, lengths: []int64{0, 0}},
	{steps: 4, columns: 0, in: 7, width: 33},
}

// TestLSTMEqualsReference: values and every gradient.
func TestLSTMEqualsReference(t *testing.T) {
	for _, c := range lstmCases {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			torch.Test(t, func() {
				want := runLSTM(torch.LSTMReference, c)
				for i, got := range runLSTM(torch.LSTM, c) {
					if !want[i].Defined() && !got.Defined() {
						continue
					}
					if !want[i].Defined() { // without steps the weights are not used
						want[i] = torch.Zeros(torch.Float32, device, got.Shape()...)
					}
					nearWithin(t, fmt.Sprintf("result %d", i), got, want[i], 5e-5)
				}
			})
		})
	}
}

// autocastLSTM is the LSTM whose products are in bfloat16.
func autocastLSTM(x, h, c torch.Tensor, w torch.LSTMWeights, o torch.LSTMOptions) (out, hN, cN torch.Tensor) {
	torch.Autocast(true, device, func() { out, hN, cN = torch.LSTM(x, h, c, w, o) })
	return out, hN, cN
}

// TestLSTMUnderAutocast: products are in bfloat16, whose rounding moves results by some thousandths of their length;
// results stay float32. A pair of a panel that met the wrong numbers would move them by much more.
func TestLSTMUnderAutocast(t *testing.T) {
	for _, c := range append(lstmCases, lstmCase{steps: 4, columns: 31, in: 5, width: 65, drop: 0.4}) {
		c.weights = 0.5 / math.Sqrt(float64(c.width)) // larger ones make more of a difference at each step
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			torch.Test(t, func() {
				want := runLSTM(torch.LSTMReference, c)
				for i, got := range runLSTM(autocastLSTM, c) {
					if !want[i].Defined() || slices.Contains(got.Shape(), 0) {
						continue
					}
					if got.DType() != torch.Float32 {
						t.Errorf("result %d is %v", i, got.DType())
					}
					length := func(x torch.Tensor) float64 { return math.Sqrt(x.Square().Sum().Item()) }
					if off := length(got.Sub(want[i])); !(off <= 0.015*length(want[i])) {
						t.Errorf("result %d is %g off its length of %g", i, off, length(want[i]))
					}
				}
			})
		})
	}
}

// TestStatesOfAutocast: a state that autocasting has rounded meets weights in float32 as the same numbers in float32
// do.
func TestStatesOfAutocast(t *testing.T) {
	torch.Test(t, func() {
		c := attentionalCase{layers: 1, steps: 5, rows: 3, positions: 4, words: 7, width: 9}
		in := attentionalInputs(c, torch.Float32)
		lstm := func() torch.Tensor {
			out, h, cell := torch.LSTM(in[0], in[8], in[9], torch.LSTMWeights{
				Input: in[4].Narrow(1, 0, 7), Hidden: in[5], InputBias: in[6], HiddenBias: in[7]}, torch.LSTMOptions{})
			return torch.Cat([]torch.Tensor{out.Reshape(-1), h.Reshape(-1), cell.Reshape(-1)}, 0)
		}
		for name, f := range map[string]func() torch.Tensor{"LSTM": lstm,
			"AttentionalDecoder": func() torch.Tensor { return c.run(torch.AttentionalDecoder.Run, in) }} {
			torch.Autocast(true, device, func() {
				var results [2][]float32
				for i, dtype := range []torch.DType{torch.BFloat16, torch.Float32} {
					for _, state := range []int{8, 9} {
						in[state] = in[state].To(torch.BFloat16, device).To(dtype, device)
					}
					results[i] = f().Float32s()
				}
				if !slices.Equal(results[0], results[1]) {
					t.Errorf("%s: states in bfloat16 give %v, in float32 %v", name, results[0], results[1])
				}
			})
		}
	})
}

// TestLSTMThreads: results and gradients have the same bits for any number of
// threads, whatever multiplies the steps: panels, the matrix as it is for a few
// columns, or the matrix library for a few steps. In bfloat16 with AMX they have
// the same bits each time for one number of threads.
func TestLSTMThreads(t *testing.T) {
	if os.Getenv("APERTURE_MKL_BY_MAKER") != "" || os.Getenv("MKL_CBWR") != "" {
		t.Skip("APERTURE_MKL_BY_MAKER or MKL_CBWR is set: MKL may cut its products by the number of threads")
	}
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	amx := torch.ISA() == "avx512" && strings.Contains(string(cpu), " amx_bf16")
	defer torch.SetThreads(0)
	for _, c := range []lstmCase{
		{steps: 6, columns: 20, in: 40, width: 150, drop: 0.5},
		{steps: 20, columns: 20, in: 400, width: 301, drop: 0.5},
		{steps: 40, columns: 1, in: 100, width: 301},
		{steps: 60, columns: 20, in: 7, width: 9}, // a bias's gradient of 32 + 4 columns
		{steps: 9, columns: 3, in: 31, width: 470, drop: 0.5, reverse: true},
		{steps: 1, columns: 1, in: 100, width: 600},
		{steps: 3, columns: 20, in: 200, width: 600},
		{steps: 7, columns: 5, in: 300, width: 133, lengths: []int64{7, 0, 3, 1, 6}},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			torch.Test(t, func() {
				for name, f := range map[string]lstm{"float32": torch.LSTM, "bfloat16": autocastLSTM} {
					torch.SetThreads(1)
					single := runLSTM(f, c)
					for _, threads := range []int{2, 3, 5} {
						torch.SetThreads(threads)
						if name == "bfloat16" && amx { // oneDNN shares out a long product's sums for AMX by the threads
							single = runLSTM(f, c)
						}
						for i, several := range runLSTM(f, c) {
							if !slices.Equal(single[i].Float32s(), several.Float32s()) {
								t.Errorf("%s: result %d differs between 1 and %d threads", name, i, threads)
							}
						}
					}
				}
			})
		})
	}
}

// TestLSTMGradientsByDifferences checks the layer that float64 takes.
func TestLSTMGradientsByDifferences(t *testing.T) {
	torch.Test(t, func() {
		draw := torch.NewStream(2, "inputs")
		normal := func(shape ...int64) torch.Tensor { return draw.Normal(0, 1, torch.Float64, device, shape...) }
		inputs := []torch.Tensor{normal(3, 2, 2), normal(2, 3), normal(2, 3), normal(12, 2), normal(12, 3), normal(12),
			normal(12)}
		weights := normal(3, 2, 3)
		for _, reverse := range []bool{false, true} {
			checkGradients(t, "float64", inputs, func(in []torch.Tensor) torch.Tensor {
				out, h, c := torch.LSTM(in[0], in[1], in[2],
					torch.LSTMWeights{Input: in[3], Hidden: in[4], InputBias: in[5], HiddenBias: in[6]},
					torch.LSTMOptions{WeightDrop: 0.4, Stream: torch.NewStream(1, "dropout"), Reverse: reverse})
				return out.Mul(weights).Sum().Add(h.Sum()).Sub(c.Square().Sum())
			})
		}
	})
}

// tanhTolerance is that of the hyperbolic tangent, relative to it. cuDNN's was off by up to 8e-6 on an H200.
func tanhTolerance(ours float64) float64 {
	if device.IsCUDA() {
		return 1e-5
	}
	return ours
}

// TestLSTMSaturates: gates far from 0 are neither lost nor infinite, and what is
// no number stays none.
func TestLSTMSaturates(t *testing.T) {
	torch.Test(t, func() {
		for _, x := range []float64{-1e30, -200, -30, 30, 200, 1e30, math.NaN(), math.Inf(1), math.Inf(-1)} {
			w := torch.LSTMWeights{Input: torch.Full(1, torch.Float32, device, 4, 1),
				Hidden:    torch.Zeros(torch.Float32, device, 4, 1),
				InputBias: torch.Zeros(torch.Float32, device, 4), HiddenBias: torch.Zeros(torch.Float32, device, 4)}
			in := torch.Full(x, torch.Float32, device, 1, 1, 1)
			want, _, _ := torch.LSTMReference(in, torch.Tensor{}, torch.Tensor{}, w, torch.LSTMOptions{})
			got, _, _ := torch.LSTM(in, torch.Tensor{}, torch.Tensor{}, w, torch.LSTMOptions{})
			if a, b := got.Item(), want.Item(); math.Abs(a-b) > tanhTolerance(1e-6) || math.IsNaN(a) != math.IsNaN(b) {
				t.Errorf("the output for %v is %v, want %v", x, a, b)
			}
		}
	})
}

// TestLSTMKeepsSmallValues: the hyperbolic tangent keeps its digits near 0, where
// one minus an exponential would lose them, and there is no seam between its forms.
func TestLSTMKeepsSmallValues(t *testing.T) {
	torch.Test(t, func() {
		var xs []float64
		for x := 1e-12; x < 20; x *= 1.07 {
			xs = append(xs, x, -x)
		}
		n := int64(len(xs))
		// The input gate is open, the forget gate closed and the output gate open, so that c is tanh(x).
		bias := torch.FromFloat64s([]float64{100, -100, 0, 100}, device, 4).To(torch.Float32, device)
		w := torch.LSTMWeights{Input: torch.FromFloat64s([]float64{0, 0, 1, 0}, device, 4, 1).To(torch.Float32, device),
			Hidden: torch.Zeros(torch.Float32, device, 4, 1), InputBias: bias,
			HiddenBias: torch.Zeros(torch.Float32, device, 4)}
		_, _, c := torch.LSTM(torch.FromFloat64s(xs, device, 1, n, 1).To(torch.Float32, device), torch.Tensor{},
			torch.Tensor{}, w, torch.LSTMOptions{})
		for i, got := range c.Float64s() {
			if want := math.Tanh(float64(float32(xs[i]))); math.Abs(got-want) > tanhTolerance(3e-7)*math.Abs(want) {
				t.Errorf("tanh(%v) is %v, want %v", xs[i], got, want)
			}
		}
	})
}
