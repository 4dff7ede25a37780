package torch_test

import (
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// draws are what Noise adds to zeros.
func draws(s *torch.Stream, deviation float64, n int64) []float64 {
	return torch.Noise(torch.Zeros(torch.Float32, device, n), deviation, s).Float64s()
}

// reference computes draw i of the stream's first call in float64, from the same bits.
func reference(seed uint64, name string, i uint32) float64 {
	mix := func(x uint64) uint64 {
		x += 0x9E3779B97F4A7C15
		x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
		x = (x ^ x>>27) * 0x94D049BB133111EB
		return x ^ x>>31
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	key := mix(mix(seed*0x9E3779B97F4A7C15^h.Sum64()) ^ mix(0xD1B54A32D192ED03))
	bits := func(i uint32) uint32 {
		x := i*0x9E3779B1 + uint32(key)
		x = (x ^ x>>16) * 0x7FEB352D
		x = (x ^ x>>15) + uint32(key>>32)
		x *= 0x846CA68B
		x = (x ^ x>>16) * 0x85EBCA6B
		return x ^ x>>13
	}
	u, turns := float64(bits(2*i)>>8+1)/(1<<24), float64(int32(bits(2*i+1))>>8)/(1<<24)
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*turns)
}

func TestNoiseEqualsItsFormula(t *testing.T) {
	ofCPU(t)
	torch.Test(t, func() {
		for i, got := range draws(torch.NewStream(3, "noise"), 0.5, 200_000) {
			if want := 0.5 * reference(3, "noise", uint32(i)); math.Abs(got-want) > 1e-6 {
				t.Fatalf("draw %d is %v, want %v", i, got, want)
			}
		}
	})
}

// TestNoiseIsNormal compares moments, the distribution and its tails, and
// neighbours and successive draws.
func TestNoiseIsNormal(t *testing.T) {
	torch.Test(t, func() {
		const n = 400_000
		s := torch.NewStream(9, "noise")
		x, y := draws(s, 1, n), draws(s, 1, n)
		got := moments(x)
		for i, want := range [4]float64{0, 1, 0, 3} {
			if math.Abs(got[i]-want) > [4]float64{0.0064, 0.009, 0.0155, 0.031}[i] { // four standard deviations
				t.Errorf("moment %d is %v, want %v", i+1, got[i], want)
			}
		}
		between := func(a, b []float64) (r float64) {
			for i := range b {
				r += a[i] * b[i] / n
			}
			return r
		}
		for what, r := range map[string]float64{"successive draws": between(x, y), "neighbours": between(x, x[1:])} {
			if math.Abs(r) > 4/math.Sqrt(n) {
				t.Errorf("the correlation of %s is %v", what, r)
			}
		}
		slices.Sort(x)
		worst := 0.0
		for i, v := range x {
			worst = math.Max(worst, math.Abs(math.Erfc(-v/math.Sqrt2)/2-float64(i)/n))
		}
		if worst > 1.95/math.Sqrt(n) { // one case in a thousand, after Kolmogorov and Smirnov
			t.Errorf("the distribution is up to %v away from the normal's", worst)
		}
		beyond := 0.0
		for _, v := range x {
			if math.Abs(v) > 4 {
				beyond++
			}
		}
		if want := n * math.Erfc(4/math.Sqrt2); math.Abs(beyond-want) > 4*math.Sqrt(want) {
			t.Errorf("%v draws are beyond 4 deviations, want about %v", beyond, want)
		}
	})
}

func TestNoiseIsAdded(t *testing.T) {
	ofCPU(t)
	torch.Test(t, func() {
		noise := draws(torch.NewStream(1, "noise"), 0.3, 24)
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32, torch.BFloat16} {
			x := torch.Full(2, dtype, device, 4, 6)
			x.SetRequiresGrad(true)
			s := torch.NewStream(1, "noise")
			y := torch.Noise(x, 0.3, s)
			nearWithin(t, dtype.String(), y.To(torch.Float64, device).AddScalar(-2),
				torch.FromFloat64s(noise, device, 4, 6), map[torch.DType]float64{torch.BFloat16: 1e-2}[dtype]+1e-6)
			y.MulScalar(3).Sum().Backward()
			nearWithin(t, dtype.String()+" gradient", x.Grad(), torch.Full(3, torch.Float64, device, 4, 6), 0)
			if s.Offset != 1 {
				t.Errorf("noise took %d draws of its stream", s.Offset)
			}
			if same := torch.Noise(x, 0, s); same != x || torch.Noise(x, 1, nil) != x || s.Offset != 1 {
				t.Error("no noise is not nothing")
			}
		}
		if empty := torch.Noise(torch.Zeros(torch.Float32, device, 0, 3), 1, torch.NewStream(1, "noise")); empty.Count() != 0 {
			t.Error("nothing has noise")
		}
	})
}

// TestNoiseDoesNotDependOnThreads: a run may continue with another number of them.
func TestNoiseDoesNotDependOnThreads(t *testing.T) {
	torch.Test(t, func() {
		defer torch.SetThreads(torch.Threads())
		torch.SetThreads(1)
		want := draws(torch.NewStream(1, "noise"), 1, 100_003)
		torch.SetThreads(2)
		if !slices.Equal(draws(torch.NewStream(1, "noise"), 1, 100_003), want) {
			t.Error("noise differs with the number of threads")
		}
	})
}
