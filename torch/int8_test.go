package torch_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestInt8Extremes: inputs and weights that are all as large as they can be: their sums fit, with few weights and with
// many.
func TestInt8Extremes(t *testing.T) {
	torch.Test(t, func() {
		for _, shape := range [][2]int64{{64, 8}, {400, 300}} {
			for _, x := range []float64{3, -3} {
				for _, w := range []float64{0.5, -0.5} {
					i, o := shape[0], shape[1]
					got := torch.PackInt8(torch.Full(w, torch.Float32, torch.CPU, o, i)).Linear(torch.Full(x,
						torch.Float32, torch.CPU, 2, i), torch.Tensor{}, false)
					for _, y := range got.Float64s() {
						if want := x * w * float64(i); math.Abs(y-want) > 1e-6*math.Abs(want) {
							t.Fatalf("%d products of %g and %g: %g, want %g", i, x, w, y, want)
						}
					}
				}
			}
		}
	})
}

// TestInt8Products: odd shapes against sums of whole numbers, with bias and without, and with relu.
func TestInt8Products(t *testing.T) {
	for _, shape := range [][3]int64{{1, 1, 1}, {1, 2, 1}, {4, 47, 31}, {31, 4, 47}, {5, 256, 100}, {129, 33, 257},
		{9, 401, 303}, {330, 8, 33}, {3, 5000, 40}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) { torch.Test(t, func() { int8Products(t, shape) }) })
	}
}

func int8Products(t *testing.T, shape [3]int64) {
	n, i, o := shape[0], shape[1], shape[2]
	s := torch.NewStream(3, "test")
	x, w, b := s.Normal(0, 2, torch.Float32, torch.CPU, n, i), s.Normal(0, 0.1, torch.Float32, torch.CPU, o, i),
		s.Normal(0, 1, torch.Float32, torch.CPU, o)
	inputs, weights := inEightBits(x), inEightBits(w)
	packed := torch.PackInt8(w)
	for _, bias := range []torch.Tensor{{}, b} {
		for _, relu := range []bool{false, true} {
			got := packed.Linear(x, bias, relu).Float64s()
			for r, a := range inputs {
				for c, e := range weights {
					var want float64
					for k, q := range a.whole {
						want += q * e.whole[k]
					}
					want *= a.scale * e.scale
					size := math.Abs(want)
					if bias.Defined() {
						want += bias.Float64s()[c]
					}
					if relu {
						want = max(0, want)
					}
					if y := got[r*int(o)+c]; !(math.Abs(y-want) <= 1e-6*(1+size)) {
						t.Fatalf("element %d, %d is %g, want %g", r, c, y, want)
					}
				}
			}
		}
	}
}

// eightBits is a row of numbers as whole numbers from -127 to 127, times a scale.
type eightBits struct {
	whole []float64
	scale float64
}

// inEightBits rounds each row of x.
func inEightBits(x torch.Tensor) []eightBits {
	values, columns := x.Float32s(), int(x.Size(1))
	rows := make([]eightBits, x.Size(0))
	for r := range rows {
		row := values[r*columns:][:columns]
		var most float32
		for _, v := range row {
			most = max(most, v, -v)
		}
		rows[r] = eightBits{make([]float64, columns), float64(most / 127)}
		for k, v := range row {
			part := v / most
			rows[r].whole[k] = math.RoundToEven(float64(part * 127))
		}
	}
	return rows
}

// TestInt8RowsAreAlone: a row's product has the same bits whatever rows stand beside it,
// also those that hold no numbers, and on one thread or several.
func TestInt8RowsAreAlone(t *testing.T) {
	torch.Test(t, func() {
		defer torch.SetThreads(0)
		s := torch.NewStream(4, "test")
		const n, i, o = 70, 48, 130
		x, w := s.Normal(0, 1, torch.Float32, torch.CPU, n, i), s.Normal(0, 1, torch.Float32, torch.CPU, o, i)
		bias := s.Normal(0, 1, torch.Float32, torch.CPU, o)
		packed := torch.PackInt8(w)
		all := x.Float32s()
		for c := range i {
			all[3*i+c] = 0
			all[9*i+c] *= 1e6
		}
		all[5*i+7], all[6*i+2] = float32(math.NaN()), float32(math.Inf(1))
		together := packed.Linear(torch.FromFloat32s(all, torch.CPU, n, i), bias, false).Float32s()
		torch.SetThreads(3)
		for r := range n {
			alone := packed.Linear(torch.FromFloat32s(all[r*i:(r+1)*i], torch.CPU, 1, i), bias, false).Float32s()
			for c, got := range alone {
				want := together[r*o+c]
				if spoilt := r == 5 || r == 6; spoilt != (got != got) || got != want && !(spoilt && want != want) {
					t.Fatalf("row %d, column %d is %g alone and %g among others", r, c, got, want)
				}
			}
		}
		if got := packed.Linear(torch.Zeros(torch.Float32, torch.CPU, 2, 0, i), bias, true).Shape(); len(got) != 3 ||
			got[2] != o {
			t.Errorf("no rows give the shape %v", got)
		}
	})
}

// TestInt8Refused: what cannot be packed is reported in a sentence.
func TestInt8Refused(t *testing.T) {
	torch.Test(t, func() {
		for _, x := range []torch.Tensor{torch.Zeros(torch.Float64, torch.CPU, 3, 4),
			torch.Zeros(torch.Float32, torch.CPU, 3), torch.Zeros(torch.Float32, torch.CPU, 3, 0)} {
			err := torch.Try(func() error { torch.PackInt8(x); return nil })
			if err == nil || !strings.Contains(err.Error(), "PackInt8") {
				t.Errorf("shape %v gives %v", x.Shape(), err)
			}
		}
	})
}
