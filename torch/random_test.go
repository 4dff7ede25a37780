package torch_test

import (
	"math"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/torch"
)

// TestStreamsKeepTheirValues: runs are repeated from their seed, so a change of
// these numbers is a change of every published result.
func TestStreamsKeepTheirValues(t *testing.T) {
	ofCPU(t)
	torch.Test(t, func() {
		s := torch.NewStream(17, "init")
		uniform := s.Uniform(-1, 1, torch.Float64, device, 4).Float64s()
		normal := s.Normal(0, 1, torch.Float64, device, 4).Float64s()
		dropped := mask(24, 0.5, s)
		var bits uint32
		for i, v := range dropped {
			if v == 0 {
				bits |= 1 << i
			}
		}
		if want := []float64{-0.68332925326950344, 0.15712227953455549, -0.90306068392245109, -0.14170417048407846}; !slices.Equal(uniform, want) {
			t.Errorf("uniform draws are %.17g, want %.17g", uniform, want)
		}
		// logarithm and cosine may round otherwise elsewhere
		for i, want := range []float64{-2.3069448396616279, 1.0606608687230004, 0.59665903228667061,
			-1.7938577021486304} {
			if math.Abs(normal[i]-want) > 1e-14 {
				t.Errorf("normal draw %d is %.17g, want %.17g", i, normal[i], want)
			}
		}
		if want := uint32(0x9a4676); bits != want {
			t.Errorf("the dropped elements are %#x, want %#x", bits, want)
		}
		single := torch.NewStream(17, "init").Uniform(-1, 1, torch.Float32, device, 4).Float32s()
		for i := range single {
			if single[i] != float32(uniform[i]) {
				t.Error("float32 draws are not the rounded float64 draws")
			}
		}
	})
}

// TestStreamsAreSeparate: one more draw in one stream moves no other, and a draw
// does not depend on the shapes of those before.
func TestStreamsAreSeparate(t *testing.T) {
	torch.Test(t, func() {
		draw := func(s *torch.Stream) []float32 { return s.Normal(0, 1, torch.Float32, device, 31).Float32s() }
		a, b := torch.NewStream(1, "init"), torch.NewStream(1, "shuffle")
		want := draw(b)
		again := torch.NewStream(1, "shuffle")
		draw(a)
		a.Uniform(0, 1, torch.Float32, device, 1000)
		if !slices.Equal(draw(again), want) {
			t.Error("a draw moved another stream")
		}
		c := torch.NewStream(1, "init")
		c.Uniform(0, 1, torch.Float32, device, 0)
		torch.Dropout(torch.Zeros(torch.Float32, device, 3), 0.5, c)
		if c.Offset != 2 || a.Offset != 2 || !slices.Equal(draw(a), draw(c)) {
			t.Error("the third draw depends on the shapes of the first two")
		}
		for _, other := range []*torch.Stream{torch.NewStream(1, "init "), torch.NewStream(2, "init"),
			torch.NewStream(1, "")} {
			if slices.Equal(draw(other), draw(torch.NewStream(1, "init"))) {
				t.Error("another name or seed gives the same draws")
			}
		}
	})
}

// TestUnset: such a stream gives zeros, and those derived from it what they give without it.
func TestUnset(t *testing.T) {
	torch.Test(t, func() {
		s := torch.NewStream(3, "init")
		none := s.Unset()
		for name, x := range map[string]torch.Tensor{
			"Uniform": none.Uniform(1, 2, torch.Float32, device, 3, 4), "Normal": none.Normal(5, 1, torch.Float32, device, 3, 4),
		} {
			fixtures.Near(t, name, x.Float64s(), make([]float64, 12), 0)
		}
		draw := func(s *torch.Stream) []float64 {
			return s.Derive("noise").Normal(0, 1, torch.Float32, device, 4).Float64s()
		}
		fixtures.Near(t, "a derived stream", draw(none), draw(s), 0)
		if s.IsUnset() || !none.IsUnset() {
			t.Error("the stream itself was changed")
		}
	})
}

func TestStreamContinuesFromItsOffset(t *testing.T) {
	torch.Test(t, func() {
		s := torch.NewStream(4, "noise")
		var want [][]float64
		for range 5 {
			want = append(want, s.Uniform(0, 1, torch.Float64, device, 7).Float64s())
		}
		for i := range want {
			if i > 0 && slices.Equal(want[i], want[i-1]) {
				t.Error("two draws are equal")
			}
			restored := torch.NewStream(4, "noise")
			restored.Offset = uint64(i)
			for j := i; j < 5; j++ {
				if !slices.Equal(restored.Uniform(0, 1, torch.Float64, device, 7).Float64s(), want[j]) {
					t.Errorf("restored before draw %d, draw %d differs", i, j)
				}
			}
		}
	})
}

// moments returns mean, variance, skewness and kurtosis.
func moments(xs []float64) (m [4]float64) {
	n := float64(len(xs))
	for _, x := range xs {
		m[0] += x / n
	}
	for _, x := range xs {
		d := x - m[0]
		m[1] += d * d / n
		m[2] += d * d * d / n
		m[3] += d * d * d * d / n
	}
	m[2] /= math.Pow(m[1], 1.5)
	m[3] /= m[1] * m[1]
	return m
}

func TestMomentsOfDraws(t *testing.T) {
	torch.Test(t, func() {
		const n = 400_000
		s := torch.NewStream(9, "moments")
		for _, test := range []struct {
			name string
			x    torch.Tensor
			want [4]float64
		}{
			{"uniform", s.Uniform(2, 5, torch.Float64, device, n), [4]float64{3.5, 0.75, 0, 1.8}},
			{"normal", s.Normal(-1, 2, torch.Float64, device, n), [4]float64{-1, 4, 0, 3}},
			{"normal in float32", s.Normal(-1, 2, torch.Float32, device, n), [4]float64{-1, 4, 0, 3}},
		} {
			got := moments(test.x.Float64s())
			for i, allowed := range [4]float64{0.015, 0.04, 0.02, 0.04} { // four standard deviations of the normal's
				if math.Abs(got[i]-test.want[i]) > allowed {
					t.Errorf("moment %d of %s draws is %v, want %v", i+1, test.name, got[i], test.want[i])
				}
			}
		}
		// Neighbours and successive draws are independent.
		a, b := s.Normal(0, 1, torch.Float64, device, n), s.Normal(0, 1, torch.Float64, device, n)
		for what, r := range map[string]float64{
			"successive draws": a.Mul(b).Mean().Item(),
			"neighbours":       a.Narrow(0, 0, n-1).Mul(a.Narrow(0, 1, n-1)).Mean().Item(),
			"their squares":    a.Square().AddScalar(-1).Mul(b.Square().AddScalar(-1)).Mean().Item() / 2,
		} {
			if math.Abs(r) > 4/math.Sqrt(n) {
				t.Errorf("the correlation of %s is %v", what, r)
			}
		}
	})
}

// TestUniformStaysBelowItsEnd, even where rounding to a narrow type would reach it.
func TestUniformStaysBelowItsEnd(t *testing.T) {
	torch.Test(t, func() {
		s := torch.NewStream(1, "range")
		for _, dtype := range []torch.DType{torch.Float16, torch.BFloat16, torch.Float32, torch.Float64} {
			for _, limits := range [][2]float64{{0, 1}, {-0.1, 0.1}, {1, 1 + 1.0/128}} {
				values := s.Uniform(limits[0], limits[1], dtype, device, 100_000).Float64s()
				low, high := slices.Min(values), slices.Max(values)
				if low < limits[0]-5e-4 || high >= limits[1] {
					t.Errorf("%v draws from [%v, %v) reach from %v to %v", dtype, limits[0], limits[1], low, high)
				}
			}
			if v := s.Uniform(3, 3, dtype, device, 1).Item(); v != 3 {
				t.Errorf("the only value of an empty range is %v", v)
			}
		}
	})
}

// TestDrawsDoNotDependOnThreads: a run may continue with another number of them.
func TestDrawsDoNotDependOnThreads(t *testing.T) {
	torch.Test(t, func() {
		defer torch.SetThreads(0)
		var draws [][]float64
		for _, threads := range []int{1, 2} {
			torch.SetThreads(threads)
			draws = append(draws, torch.NewStream(1, "init").Normal(0, 1, torch.Float64, device, 100_003).Float64s())
		}
		if !slices.Equal(draws[0], draws[1]) {
			t.Error("draws differ with the number of threads")
		}
	})
}
