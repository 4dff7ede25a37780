package torch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestAttentionTakesEitherMask: what AttentionMask makes of a mask gives what the mask does.
func TestAttentionTakesEitherMask(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
			draw := torch.NewStream(3, "attention")
			q, k, v := draw.Normal(0, 1, dtype, device, 2, 2, 3, 4), draw.Normal(0, 1, dtype, device, 2, 2, 5, 4),
				draw.Normal(0, 1, dtype, device, 2, 2, 5, 4)
			mask := torch.FromBools([]bool{true, true, true, false, false, true, true, true, true, true}, device, 2, 1,
				1, 5)
			near(t, dtype.String(), torch.Attention(q, k, v, torch.AttentionMask(mask, dtype), false),
				torch.Attention(q, k, v, mask, false))
		}
	})
}

// TestAttentionIsCausalOrMasked: libtorch refuses both at once, and so does Attention.
func TestAttentionIsCausalOrMasked(t *testing.T) {
	torch.Test(t, func() {
		q := torch.Zeros(torch.Float32, device, 1, 1, 2, 4)
		mask := torch.FromBools([]bool{true, false}, device, 1, 1, 1, 2)
		err := torch.Try(func() error { torch.Attention(q, q, q, mask, true); return nil })
		if err == nil || !strings.Contains(err.Error(), "Attention of shapes [1 1 2 4]") {
			t.Errorf("got %v, want an error that names Attention and its shapes", err)
		}
	})
}

// TestAttentionUnderAutocast: value and gradients of bfloat16 operands are those of float32 attention to the same
// numbers, but for rounding: with widths that the kernel of the host has and others, blocks of queries and keys that
// are full, begun and left out, keys beside padding, and causality.
func TestAttentionUnderAutocast(t *testing.T) {
	const columns, heads = 2, 3
	type sizes struct {
		queries, keys, width int64
		masked, causal       bool
	}
	tests := []sizes{{4, 5, 8, false, false}, {5, 5, 8, false, true}, {4, 5, 8, true, false}}
	if device == torch.CPU { // on the checked device libtorch divides by zero
		tests = append(tests, sizes{0, 5, 32, true, false})
	}
	for _, width := range []int64{32, 64, 96} {
		for _, masked := range []bool{false, true} {
			for _, steps := range [][2]int64{{1, 1}, {3, 7}, {32, 33}, {65, 64}, {130, 129}} {
				tests = append(tests, sizes{steps[0], steps[1], width, masked, false})
			}
		}
		for _, steps := range []int64{1, 2, 31, 33, 64, 65, 200} {
			tests = append(tests, sizes{steps, steps, width, false, true})
		}
	}
	torch.Test(t, func() {
		for _, test := range tests {
			draw := torch.NewStream(7, "attention")
			normal := func(steps int64) torch.Tensor {
				return draw.Normal(0, 1, torch.BFloat16, device, columns, steps, heads, test.width)
			}
			x := []torch.Tensor{normal(test.queries), normal(test.keys), normal(test.keys)}
			gradient := normal(test.queries).Transpose(1, 2)
			var mask torch.Tensor
			if test.masked {
				mask = draw.Uniform(0, 1, torch.Float32, device, columns, 1, 1, test.keys).
					Less(torch.Full(0.7, torch.Float32, device, 1)).
					Or(torch.Arange(test.keys, device).EqualScalar(float64(test.keys / 2)))
			}
			results := func(autocast bool, dtype torch.DType) []torch.Tensor {
				leaves, heads := make([]torch.Tensor, len(x)), make([]torch.Tensor, len(x))
				for i := range x {
					leaves[i] = x[i].To(dtype, device).Clone().Detach()
					leaves[i].SetRequiresGrad(true)
					heads[i] = leaves[i].Transpose(1, 2) // as a layer splits its width into heads
				}
				var y torch.Tensor
				torch.Autocast(autocast, device, func() {
					y = torch.Attention(heads[0], heads[1], heads[2], mask, test.causal)
				})
				y.Mul(gradient.To(y.DType(), device)).Sum().Backward()
				return []torch.Tensor{y, leaves[0].Grad(), leaves[1].Grad(), leaves[2].Grad()}
			}
			want := results(false, torch.Float32)
			for i, got := range results(true, torch.BFloat16) {
				nearWithin(t, fmt.Sprintf("%+v, result %d", test, i), got, want[i], 0.02)
			}
		}
	})
}

// TestAttentionUnderAutocastKeepsHalf: nothing in float32 is kept for the backward pass but a number for each row of
// scores.
func TestAttentionUnderAutocastKeepsHalf(t *testing.T) {
	ofCPU(t)
	const columns, heads, steps, slack = 2, 4, 64, 1024
	torch.Test(t, func() {
		for _, width := range []int64{32, 24} { // by the kernel of the host, where the processor has it, and by libtorch
			x := torch.NewStream(7, "attention").Normal(0, 1, torch.BFloat16, device, columns, heads, steps, width)
			x.SetRequiresGrad(true)
			before := torch.LiveBytes()
			torch.Autocast(true, device, func() { torch.Attention(x, x, x, torch.Tensor{}, true) })
			if kept, most := torch.LiveBytes()-before, columns*heads*steps*(2*width+4)+slack; kept > most {
				t.Errorf("width %d: %d bytes are kept, want at most %d: the result in bfloat16, and a row's number", width,
					kept, most)
			}
		}
	})
}

// TestAttentionUnderAutocastToNothing: a query whose keys are all beside the mask gets zeros, and gives none a
// gradient.
func TestAttentionUnderAutocastToNothing(t *testing.T) {
	notOnGPU(t, "libtorch's kernel gives a mean of the values")
	torch.Test(t, func() {
		x := torch.NewStream(7, "attention").Normal(0, 1, torch.BFloat16, device, 1, 1, 40, 32)
		x.SetRequiresGrad(true)
		var y torch.Tensor
		torch.Autocast(true, device, func() {
			y = torch.Attention(x, x, x, torch.FromBools(make([]bool, 40), device, 1, 1, 1, 40), false)
		})
		y.Sum().Backward()
		for _, got := range []torch.Tensor{y, x.Grad()} {
			near(t, "attention to nothing", got, torch.Zeros(torch.BFloat16, device, 1, 1, 40, 32))
		}
	})
}

// attentionInHalf is attention under Autocast to operands that bfloat16 holds.
func attentionInHalf(d drawer) comparison {
	columns, heads, queries, keys := d.size(0, 4), d.size(1, 3), d.size(0, 130), d.size(1, 130)
	width := []int64{8, 32, 64, 96}[d.IntN(4)]
	var mask torch.Tensor
	causal := d.IntN(2) == 0
	if !causal && d.IntN(2) == 0 {
		seen := make([]bool, columns*keys)
		for i := range seen {
			seen[i] = int64(i)%keys == keys/2 || d.IntN(3) > 0
		}
		mask = torch.FromBools(seen, device, columns, 1, 1, keys)
	}
	form := func(dtype func(torch.Tensor) torch.DType) operator {
		return func(in []torch.Tensor) (out []torch.Tensor) {
			half := dtype(in[0]) == torch.BFloat16
			x := make([]torch.Tensor, len(in))
			for i := range in {
				x[i] = in[i].To(dtype(in[i]), device)
			}
			torch.Autocast(half, device, func() {
				out = []torch.Tensor{torch.Attention(x[0], x[1], x[2], mask, causal)}
			})
			return out
		}
	}
	operand := func(steps int64) torch.Tensor {
		return d.normal(1, columns, heads, steps, width).To(torch.BFloat16, device).To(torch.Float32, device)
	}
	return comparison{operands: []torch.Tensor{operand(queries), operand(keys), operand(keys)}, limit: 0.03,
		fused: form(func(torch.Tensor) torch.DType { return torch.BFloat16 }), plain: form(torch.Tensor.DType)}
}
