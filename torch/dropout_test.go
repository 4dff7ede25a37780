package torch_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// mask is what dropout made of ones: 0 where it dropped.
func mask(n int64, p float64, s *torch.Stream) []float32 {
	return torch.Dropout(torch.Full(1, torch.Float32, device, n), p, s).Float32s()
}

func TestDropoutKeepsItsRate(t *testing.T) {
	torch.Test(t, func() {
		const n = 1 << 20
		for _, p := range []float64{0.01, 0.1, 0.5, 0.9} {
			s := torch.NewStream(7, "dropout")
			kept := 0
			for _, v := range mask(n, p, s) {
				if v == 0 {
					continue
				}
				kept++
				if math.Abs(float64(v)-1/(1-p)) > 1e-6/(1-p) {
					t.Fatalf("a kept element was scaled by %v, not by %v", v, 1/(1-p))
				}
			}
			if deviation := (float64(kept) - n*(1-p)) / math.Sqrt(n*p*(1-p)); math.Abs(deviation) > 4 {
				t.Errorf("with p = %v %d of %d were kept, %.1f standard deviations from the mean", p, kept, n,
					deviation)
			}
		}
	})
}

// TestDropoutMasksAreIndependent counts how often two masks drop the same element:
// masks of successive draws, of other names and of other seeds, and a mask and
// itself, moved by some elements.
func TestDropoutMasksAreIndependent(t *testing.T) {
	torch.Test(t, func() {
		const n, p = 1 << 20, 0.5
		s := torch.NewStream(7, "dropout")
		first := mask(n, p, s)
		others := map[string][]float32{
			"the next draw": mask(n, p, s),
			"another name":  mask(n, p, torch.NewStream(7, "dropout2")),
			"another seed":  mask(n, p, torch.NewStream(8, "dropout")),
		}
		for _, distance := range []int{1, 2, 31, 512, 4096} {
			others["itself, moved"] = append(slices.Clone(first[distance:]), first[:distance]...)
			for what, other := range others {
				same := 0
				for i := range first {
					if (first[i] == 0) == (other[i] == 0) {
						same++
					}
				}
				if deviation := (float64(same) - n/2) / math.Sqrt(n/4); math.Abs(deviation) > 4.5 {
					t.Errorf("a mask agrees with %s (by %d) at %d of %d elements, %.1f standard deviations from half",
						what, distance, same, n, deviation)
				}
			}
		}
	})
}

func TestDropoutBackwardUsesTheMaskOfForward(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float32, torch.Float64, torch.BFloat16} {
			s := torch.NewStream(1, "dropout")
			// A transposed operand, and a gradient laid out otherwise than the output.
			base := torch.Full(1, dtype, device, 31, 47)
			base.SetRequiresGrad(true)
			y := torch.Dropout(base.Transpose(0, 1), 0.3, s)
			y.BackwardWith(torch.Full(1, dtype, device, 31, 47).Transpose(0, 1))
			forward, gradient := y.Float32s(), base.Grad().Transpose(0, 1).Float32s()
			if !slices.Equal(forward, gradient) {
				t.Errorf("%v: the mask of the backward pass differs", dtype)
			}
			same := torch.NewStream(1, "dropout")
			want := mask(31*47, 0.3, same)
			for i := range want {
				if (want[i] == 0) != (forward[i] == 0) {
					t.Fatalf("%v: the mask depends on layout or type at element %d", dtype, i)
				}
			}
		}
	})
}

// TestDropoutMaskIsDropoutOfOnes: bit for bit on the CPU; a device has a rate and a seed in common, not the bits.
func TestDropoutMaskIsDropoutOfOnes(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float32, torch.Float64, torch.BFloat16} {
			s := torch.NewStream(3, "mask")
			got := torch.DropoutMask(0.3, s, dtype, device, 1, 31, 47)
			want := torch.Dropout(torch.Full(1, dtype, device, 1, 31, 47), 0.3, torch.NewStream(3, "mask"))
			if device == torch.CPU && !slices.Equal(got.Float32s(), want.Float32s()) {
				t.Errorf("%v: the mask is not dropout of ones", dtype)
			}
			again := torch.DropoutMask(0.3, torch.NewStream(3, "mask"), dtype, device, 1, 31, 47)
			if s.Offset != 1 || !slices.Equal(got.Float32s(), again.Float32s()) {
				t.Errorf("%v: a draw does not come again, or moved the stream by %d", dtype, s.Offset)
			}
			for i, v := range got.Float32s() {
				if v != 0 && math.Abs(float64(v)-1/0.7) > 0.01 {
					t.Fatalf("%v: element %d is %v", dtype, i, v)
				}
			}
		}
	})
}

func TestDropoutIdentity(t *testing.T) {
	torch.Test(t, func() {
		x := torch.Arange(5, device).To(torch.Float32, device)
		s := torch.NewStream(1, "dropout")
		for what, y := range map[string]torch.Tensor{"no stream": torch.Dropout(x, 0.5, nil),
			"p = 0": torch.Dropout(x, 0, s)} {
			if y != x {
				t.Errorf("%s: the result is another tensor", what)
			}
		}
		if s.Offset != 0 {
			t.Error("p = 0 drew a mask")
		}
		if y := torch.Dropout(torch.Zeros(torch.Float32, device, 0, 7), 0.5, s); y.Count() != 0 {
			t.Errorf("dropout of nothing has shape %v", y.Shape())
		}
		for _, p := range []float64{-0.1, 1, 1.5, math.NaN()} {
			err := torch.Try(func() error { torch.Dropout(x, p, s); return nil })
			if err == nil || !strings.Contains(err.Error(), "dropout rate") {
				t.Errorf("p = %v gives the error %v", p, err)
			}
		}
	})
}

// TestDropoutDoesNotDependOnThreads: a run on one machine continues on another.
func TestDropoutDoesNotDependOnThreads(t *testing.T) {
	torch.Test(t, func() {
		defer torch.SetThreads(0)
		var masks [][]float32
		for _, threads := range []int{1, 2, 3} {
			torch.SetThreads(threads)
			if torch.Threads() != threads {
				t.Fatalf("%d threads were asked for, there are %d", threads, torch.Threads())
			}
			masks = append(masks, mask(100_003, 0.1, torch.NewStream(1, "dropout")))
		}
		if !slices.Equal(masks[0], masks[1]) || !slices.Equal(masks[0], masks[2]) {
			t.Error("masks differ with the number of threads")
		}
	})
}

// regularised gives value and gradient of a function of an input drawn from one seed, weighted by numbers drawn in the
// same way.
func regularised(dtype torch.DType, shape []int64, f func(x torch.Tensor) torch.Tensor) (value, gradient torch.Tensor) {
	draw := torch.NewStream(5, "inputs")
	x := draw.Normal(0, 1, dtype, device, shape...)
	x.SetRequiresGrad(true)
	value = f(x)
	value.Mul(draw.Normal(0, 1, dtype, device, value.Shape()...)).Sum().Backward()
	return value, x.Grad()
}

// TestRegularisersEqualTheirReferences: on the CPU they are the same operators.
func TestRegularisersEqualTheirReferences(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
			for _, shape := range [][]int64{{2, 1, 1}, {7, 3, 31}, {5, 4, 64}} {
				for what, f := range map[string][2]func(x torch.Tensor) torch.Tensor{
					"the mean square": {torch.MeanSquare,
						func(x torch.Tensor) torch.Tensor { return torch.MeanSquareReference(x, false) }},
					"that of changes": {torch.MeanSquareChange,
						func(x torch.Tensor) torch.Tensor { return torch.MeanSquareReference(x, true) }},
				} {
					value, gradient := regularised(dtype, shape, f[0])
					wantValue, wantGradient := regularised(dtype, shape, f[1])
					near(t, what, value, wantValue)
					near(t, what+", gradient", gradient, wantGradient)
				}
			}
		}
	})
}

// TestLockedDropoutIsTheSameForAllSteps: elements are 0 or scaled, alike for all steps, and so is the gradient.
func TestLockedDropoutIsTheSameForAllSteps(t *testing.T) {
	torch.Test(t, func() {
		const steps, columns, width, p = 3, 5, 37, 0.3
		for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
			x := torch.Full(1, dtype, device, steps, columns, width)
			x.SetRequiresGrad(true)
			s := torch.NewStream(1, "dropout")
			y := torch.LockedDropout(x, p, s)
			y.BackwardWith(torch.Full(1, dtype, device, steps, columns, width))
			got := y.Float64s()
			if gradient := x.Grad().Float64s(); !slices.Equal(got, gradient) {
				t.Errorf("%v: the mask of the backward pass differs", dtype)
			}
			dropped := 0
			for i, v := range got {
				switch {
				case v != got[i%(columns*width)]:
					t.Fatalf("%v: a step has a mask of its own", dtype)
				case v == 0:
					dropped++
				case math.Abs(v-1/(1-p)) > 1e-6:
					t.Fatalf("%v: a kept element was scaled by %v", dtype, v)
				}
			}
			if share := float64(dropped) / float64(len(got)); math.Abs(share-p) > 0.15 {
				t.Errorf("%v: %.2f of the elements were dropped", dtype, share)
			}
			if again := torch.LockedDropout(x, p, torch.NewStream(1, "dropout")); s.Offset != 1 ||
				!slices.Equal(got, again.Float64s()) {
				t.Errorf("%v: a draw does not come again", dtype)
			}
			if torch.LockedDropout(x, p, nil) != x || torch.LockedDropout(x, 0, s) != x {
				t.Errorf("%v: without a stream or a rate the result is another tensor", dtype)
			}
		}
	})
}
