package torch_test

import (
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// eachInt8 runs a test with each way of multiplying by weights of eight bits that there is.
func eachInt8(t *testing.T, test func(t *testing.T, pack func(torch.Tensor) torch.Packed)) {
	if _, err := torch.Int8Engine(); err != nil {
		t.Skip(err)
	}
	t.Run("usual", func(t *testing.T) { test(t, torch.PackInt8) })
	t.Run("by a library", func(t *testing.T) { test(t, torch.PackInt8ByLibrary) })
}

// TestInt8Extremes: inputs and weights that are all as large as they can be: their sums fit, with few weights and with many.
func TestInt8Extremes(t *testing.T) { eachInt8(t, int8Extremes) }

func int8Extremes(t *testing.T, pack func(torch.Tensor) torch.Packed) {
	torch.Test(t, func() {
		for _, shape := range [][2]int64{{64, 8}, {400, 300}} {
			for _, sign := range []float64{1, -1} {
				i, o := shape[0], shape[1]
				got := pack(torch.Full(0.5, torch.Float32, torch.CPU, o, i)).Linear(torch.Full(3*sign,
					torch.Float32, torch.CPU, 2, i), torch.Tensor{}, false)
				for _, x := range got.Float64s() {
					if want := 1.5 * sign * float64(i); math.Abs(x-want) > 0.02*math.Abs(want) {
						t.Fatalf("%d weights of %v: %g, want %g", i, shape, x, want)
					}
				}
			}
		}
	})
}

// TestInt8Products: odd shapes against float64, with bias and without, and with relu. Of the last one the weights are many.
func TestInt8Products(t *testing.T) { eachInt8(t, int8Products) }

func int8Products(t *testing.T, pack func(torch.Tensor) torch.Packed) {
	for _, shape := range [][3]int64{{1, 2, 1}, {4, 47, 31}, {31, 4, 47}, {5, 256, 100}, {129, 33, 257},
		{9, 401, 303}} {
		torch.Test(t, func() {
			n, i, o := shape[0], shape[1], shape[2]
			s := torch.NewStream(3, "test")
			x, w, b := s.Normal(0, 2, torch.Float32, torch.CPU, n, i), s.Normal(0, 0.1, torch.Float32, torch.CPU, o, i),
				s.Normal(0, 1, torch.Float32, torch.CPU, o)
			packed := pack(w)
			for _, bias := range []torch.Tensor{{}, b} {
				for _, relu := range []bool{false, true} {
					got := packed.Linear(x, bias, relu).Float64s()
					xs, ws := x.Float64s(), w.Float64s()
					for r := range n {
						for c := range o {
							var want, most float64
							top, widest := largest(xs[r*i:(r+1)*i]), largest(ws[c*i:(c+1)*i])
							for k := range i {
								a, e := xs[r*i+k], ws[c*i+k]
								want += a * e
								most += math.Abs(a)*widest/127/2 + (math.Abs(e)+widest/127)*top/127
							}
							if bias.Defined() {
								want += bias.Float64s()[c]
							}
							if relu {
								want = max(0, want)
							}
							if d := math.Abs(got[r*o+c] - want); !(d <= most+1e-5) {
								t.Fatalf("%v: element %d, %d is %g, want %g to %g", shape, r, c, got[r*o+c], want, most)
							}
						}
					}
				}
			}
		})
	}
}

func largest(xs []float64) (most float64) {
	for _, x := range xs {
		most = max(most, math.Abs(x))
	}
	return most
}

// TestInt8RowsAreAlone: a row's product has the same bits whatever rows stand beside it,
// also those that hold no numbers, and on one thread or several.
func TestInt8RowsAreAlone(t *testing.T) { eachInt8(t, int8RowsAreAlone) }

func int8RowsAreAlone(t *testing.T, pack func(torch.Tensor) torch.Packed) {
	torch.Test(t, func() {
		defer torch.SetThreads(0)
		s := torch.NewStream(4, "test")
		const n, i, o = 70, 48, 130
		x, w := s.Normal(0, 1, torch.Float32, torch.CPU, n, i), s.Normal(0, 1, torch.Float32, torch.CPU, o, i)
		bias := s.Normal(0, 1, torch.Float32, torch.CPU, o)
		packed := pack(w)
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

// TestInt8Refused: what cannot be packed is reported in a sentence, and so is a libtorch
// without these products.
func TestInt8Refused(t *testing.T) {
	torch.Test(t, func() {
		for _, x := range []torch.Tensor{torch.Zeros(torch.Float64, torch.CPU, 3, 4),
			torch.Zeros(torch.Float32, torch.CPU, 3), torch.Zeros(torch.Float32, torch.CPU, 3, 1)} {
			err := torch.Try(func() error { torch.PackInt8(x); return nil })
			if err == nil || !strings.Contains(err.Error(), "PackInt8") {
				t.Errorf("shape %v gives %v", x.Shape(), err)
			}
		}
	})
	if _, err := torch.Int8EngineOf(""); err == nil ||
		!strings.Contains(err.Error(), "built without fbgemm and oneDNN") {
		t.Error(err)
	}
	if name, err := torch.Int8EngineOf("fbgemm"); err != nil || name != "fbgemm" {
		t.Error(name, err)
	}
}
