package torch_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// matrix is [v,d] with a common direction and lengths from short to long; row zero, where there is one, is zero.
func matrix(seed uint64, v, d, zero int64) torch.Tensor {
	s := torch.NewStream(seed, "matrix")
	x := s.Normal(0.3, 1, torch.Float64, device, v, d).Mul(s.Uniform(-3, 3, torch.Float64, device, v, 1).Exp())
	if zero >= 0 && zero < v {
		x = x.MaskedFill(torch.Arange(v, device).EqualScalar(float64(zero)).Reshape(-1, 1), 0)
	}
	return x
}

// pairs sums the cosines of all pairs of different rows, one by one.
func pairs(w torch.Tensor) float64 {
	v, d := int(w.Size(0)), int(w.Size(1))
	x := w.Float64s()
	dot := func(i, j int) (sum float64) {
		for k := range d {
			sum += x[i*d+k] * x[j*d+k]
		}
		return sum
	}
	sum := 0.0
	for i := range v {
		for j := range v {
			if length := math.Sqrt(dot(i, i) * dot(j, j)); i != j && length > 0 {
				sum += dot(i, j) / length
			}
		}
	}
	return sum
}

var cosineShapes = [][2]int64{{47, 4}, {31, 31}, {3, 5}, {1, 4}, {2, 1}, {700, 7}, {0, 3}}

func TestCosinePenaltyEqualsAllPairs(t *testing.T) {
	for _, shape := range cosineShapes {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			torch.Test(t, func() {
				v, d := shape[0], shape[1]
				start := matrix(1, v, d, 2)
				brute := torch.Full(2.5*pairs(start)/math.Max(float64(v*v), 1), torch.Float64, device)
				plain := start.Clone()
				plain.SetRequiresGrad(true)
				want := torch.CosinePenaltyReference(plain, 2.5)
				near(t, "the reference", want, brute)
				want.MulScalar(-3).Backward()
				for _, dtype := range []torch.DType{torch.Float64, torch.Float32, torch.BFloat16} {
					w := start.To(dtype, device).Clone()
					w.SetRequiresGrad(true)
					value := torch.CosinePenalty(w, 2.5)
					value.MulScalar(-3).Backward()
					if dtype == torch.BFloat16 {
						nearWithin(t, "bfloat16 value", value, brute, 2e-2)
						nearWithin(t, "bfloat16 gradient", w.Grad(), plain.Grad(), 2e-2)
						continue
					}
					near(t, dtype.String()+" value", value, brute)
					near(t, dtype.String()+" gradient", w.Grad(), plain.Grad())
				}
			})
		})
	}
}

func TestCosinePenaltyByDifferences(t *testing.T) {
	torch.Test(t, func() {
		checkGradients(t, "dense", []torch.Tensor{matrix(2, 7, 3, -1)}, func(in []torch.Tensor) torch.Tensor {
			return torch.CosinePenalty(in[0], 10)
		})
		s := torch.NewStream(3, "factors")
		factors := []torch.Tensor{matrix(3, 7, 3, -1), s.Normal(0, 1, torch.Float64, device, 3),
			s.Normal(0, 1, torch.Float64, device, 5, 3)}
		checkGradients(t, "factored", factors, func(in []torch.Tensor) torch.Tensor {
			return torch.CosinePenaltyFactored(in[0], in[1], in[2], 10)
		})
	})
}

// TestCosinePenaltyOfFactors compares with the matrix that the factors make; its
// 5,000 rows are more than one block.
func TestCosinePenaltyOfFactors(t *testing.T) {
	for _, shape := range [][3]int64{{47, 7, 7}, {31, 4, 9}, {5, 5, 3}, {1, 1, 1}, {5000, 5, 6}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			torch.Test(t, func() {
				v, k, d := shape[0], shape[1], shape[2]
				stream := torch.NewStream(4, "factors")
				factors := []torch.Tensor{
					matrix(5, v, k, 3), stream.Normal(0, 1, torch.Float64, device, k),
					stream.Normal(0, 1, torch.Float64, device, d, k),
				}
				run := func(dtype torch.DType, f func(u, s, v torch.Tensor) torch.Tensor) []torch.Tensor {
					leaves := make([]torch.Tensor, 3)
					for i, x := range factors {
						leaves[i] = x.To(dtype, device).Clone()
						leaves[i].SetRequiresGrad(true)
					}
					value := f(leaves[0], leaves[1], leaves[2]).MulScalar(2)
					value.Backward()
					return []torch.Tensor{value, leaves[0].Grad(), leaves[1].Grad(), leaves[2].Grad()}
				}
				want := run(torch.Float64, func(u, s, v torch.Tensor) torch.Tensor {
					return torch.CosinePenaltyReference(u.Mul(s).MatMul(v.Transpose(0, 1)), 1.5)
				})
				for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
					got := run(dtype, func(u, s,
						v torch.Tensor) torch.Tensor {
						return torch.CosinePenaltyFactored(u, s, v, 1.5)
					})
					for i, what := range []string{"value", "gradient of u", "gradient of s", "gradient of v"} {
						near(t, dtype.String()+" "+what, got[i], want[i])
					}
				}
			})
		})
	}
}

// TestCosinePenaltyEqualsPyTorch has the value and every gradient, fused and plain.
func TestCosinePenaltyEqualsPyTorch(t *testing.T) {
	torch.Test(t, func() {
		g, meta := golden(t, "cosine.safetensors")
		var settings struct{ Weight float64 }
		if err := json.Unmarshal([]byte(meta["settings"]), &settings); err != nil {
			t.Fatal(err)
		}
		for name, form := range map[string]struct {
			leaves []string
			f      func(x []torch.Tensor, weight float64) torch.Tensor
		}{
			"dense": {[]string{"w"},
				func(x []torch.Tensor, weight float64) torch.Tensor { return torch.CosinePenalty(x[0], weight) }},
			"dense reference": {[]string{"w"},
				func(x []torch.Tensor, weight float64) torch.Tensor {
					return torch.CosinePenaltyReference(x[0],
						weight)
				}},
			"factored": {[]string{"u", "s", "v"}, func(x []torch.Tensor, weight float64) torch.Tensor {
				return torch.CosinePenaltyFactored(x[0], x[1], x[2], weight)
			}},
		} {
			prefix := strings.Fields(name)[0] + "/"
			for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
				leaves := make([]torch.Tensor, len(form.leaves))
				for i, leaf := range form.leaves {
					leaves[i] = g[prefix+leaf].To(dtype, device).Clone()
					leaves[i].SetRequiresGrad(true)
				}
				value := form.f(leaves, settings.Weight)
				value.Backward()
				near(t, name+": value", value, g[prefix+"value"])
				for i, leaf := range form.leaves {
					near(t, name+": gradient of "+leaf, leaves[i].Grad(), g[prefix+"g_"+leaf])
				}
			}
		}
	})
}

// TestCosinePenaltyTurnsRows: it does not see the rows' lengths, and its gradient
// stands at right angles to each row.
func TestCosinePenaltyTurnsRows(t *testing.T) {
	torch.Test(t, func() {
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-15, torch.Float32: 1e-7} {
			w := matrix(6, 700, 31, 5).To(dtype, device)
			w.SetRequiresGrad(true)
			value := torch.CosinePenalty(w, 700)
			value.Backward()
			along, size := w.Mul(w.Grad()).SumDim(1, false).Float64s(),
				w.Norm(1, false).Mul(w.Grad().Norm(1, false)).Float64s()
			for i := range along {
				if math.Abs(along[i]) > limit*31*(size[i]+1e-30) {
					t.Errorf("%v: row %d has a gradient along itself of %v of %v", dtype, i, along[i], size[i])
				}
			}
			if g := w.Grad().Narrow(0, 5, 1).Abs().Sum().Item(); g != 0 {
				t.Errorf("%v: a row of zeros has a gradient of %v", dtype, g)
			}
			longer := torch.CosinePenalty(w.Detach().Mul(torch.Arange(700, device).AddScalar(1).To(dtype,
				device).Reshape(-1, 1)), 700)
			nearWithin(t, "the penalty of longer rows", longer, value, 700*limit)
		}
	})
}

// TestCosinePenaltyKnownValues has the worked example.
func TestCosinePenaltyKnownValues(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
			w := torch.FromFloat64s([]float64{1, 2, 3, -1, -2, 0.5}, device, 3, 2).To(dtype, device)
			w.SetRequiresGrad(true)
			value := torch.CosinePenalty(w, 1)
			value.Backward()
			nearWithin(t, "the value", value, torch.Full(-0.2383475, torch.Float64, device), 1e-7)
			want := []float64{0.00122333, -0.00061166, 0.02029451, 0.06088353, 0.02351609, 0.09406437}
			nearWithin(t, "the gradient", w.Grad(), torch.FromFloat64s(want, device, 3, 2), 1e-8)
		}
	})
}

// TestCosinePenaltyShowsNaN: a matrix that broke must be seen in what it pays.
func TestCosinePenaltyShowsNaN(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
			w := torch.FromFloat64s([]float64{1, 2, math.NaN(), -1}, device, 2, 2).To(dtype, device)
			if value := torch.CosinePenalty(w, 1); !math.IsNaN(value.Item()) {
				t.Errorf("%v: the penalty of NaN is %v", dtype, value.Item())
			}
		}
	})
}

// TestCosinePenaltyNearZero: rows in opposite pairs have the least penalty, which
// sums in float32 would lose.
func TestCosinePenaltyNearZero(t *testing.T) {
	torch.Test(t, func() {
		half := torch.NewStream(7, "half").Normal(5, 1, torch.Float32, device, 20000, 16)
		value := torch.CosinePenalty(torch.Cat([]torch.Tensor{half, half.Neg()}, 0), 1)
		const least = -1.0 / 40000
		if d := math.Abs(value.Item()/least - 1); d > 1e-6 {
			t.Errorf("the penalty is %v, want %v (off by %v)", value.Item(), least, d)
		}
		same := torch.CosinePenalty(torch.Full(0.1, torch.Float32, device, 4000, 3), 2)
		if want := 2 * (1 - 1.0/4000); math.Abs(same.Item()-want) > 1e-6 {
			t.Errorf("equal rows pay %v, want %v", same.Item(), want)
		}
	})
}

// TestCosinePenaltyOnThreads: the result is the same bits on any number of threads.
func TestCosinePenaltyOnThreads(t *testing.T) {
	torch.Test(t, func() {
		defer torch.SetThreads(torch.Threads())
		run := func(threads int) []float64 {
			torch.SetThreads(threads)
			w := matrix(8, 3000, 31, -1).To(torch.Float32, device)
			w.SetRequiresGrad(true)
			value := torch.CosinePenalty(w, 1)
			value.Backward()
			return append(value.Float64s(), w.Grad().Float64s()...)
		}
		if !slices.Equal(run(1), run(3)) {
			t.Error("one thread and three differ")
		}
	})
}

// TestCosinePenaltyNeverMakesW measures the peak of a factored penalty, whose U is all there is of size V.
func TestCosinePenaltyNeverMakesW(t *testing.T) {
	torch.Test(t, func() {
		const v, k = 30000, 16
		s := torch.NewStream(9, "factors")
		u, scale, basis := s.Normal(0, 1, torch.Float32, device, v, k), torch.Full(1, torch.Float32, device, k),
			s.Normal(0, 1, torch.Float32, device, k, k)
		u.SetRequiresGrad(true)
		before := torch.LiveBytes()
		torch.ResetPeakBytes()
		torch.CosinePenaltyFactored(u, scale, basis, 1).Backward()
		const gradient, lengths = v * k * 4, v * 8
		if peak := torch.PeakBytes() - before; peak > gradient+lengths+gradient/2 {
			t.Errorf("the peak is %d bytes, of which the gradient has %d", peak, gradient)
		}
	})
}

func TestCosinePenaltyRefuses(t *testing.T) {
	torch.Test(t, func() {
		zeros := func(shape ...int64) torch.Tensor { return torch.Zeros(torch.Float32, device, shape...) }
		for want, f := range map[string]func(){
			"CosinePenalty of shapes [3]: a matrix is needed": func() { torch.CosinePenalty(zeros(3), 1) },
			"do not fit rows of shape [5, 3]": func() {
				torch.CosinePenaltyFactored(zeros(5, 3),
					zeros(4), zeros(6, 3), 1)
			},
			"do not fit rows of shape [5, 2]": func() {
				torch.CosinePenaltyFactored(zeros(5, 2),
					zeros(2), zeros(6, 3), 1)
			},
		} {
			if err := torch.Try(func() error { f(); return nil }); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one with %q", err, want)
			}
		}
	})
}
