package objectives

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// held is an output layer of spectrum control, its factors away from their start,
// and the embedding.
func held(t *testing.T, p Config, change func(*Settings)) (*Output, *Factored) {
	t.Helper()
	s := unsmoothed()
	s.Method = "spectrum"
	change(&s)
	o := layer(t, s, p)
	moved(p)
	return o, o.Embedding().(*Factored)
}

func TestWaysToHoldTheSpectrumArePieces(t *testing.T) {
	for how, want := range map[string]string{
		"penalty":    "Orthogonality SpectrumPrior",
		"proximal":   "Orthogonality ProximalPrior",
		"retraction": "Retraction ProximalPrior",
		"group":      "Orthogonality SpectrumPrior",
	} {
		s := unsmoothed()
		s.Set("method", "spectrum", "spectrum_hold", how)
		m, err := s.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if got := kinds(m.Regularizers); got != want {
			t.Errorf("%s: the pieces are %s, want %s", how, got, want)
		}
		if m.ClipApart != (how == "group") {
			t.Errorf("%s clips the gradients of U, s and V apart: %v", how, m.ClipApart)
		}
		if how == "proximal" {
			want = "ProximalOrthogonality ProximalPrior"
		}
		if m, err = s.resolve(true); err != nil || kinds(m.Regularizers) != "Preconditioner "+want {
			t.Errorf("%s under SGD: the pieces are %s, %v", how, kinds(m.Regularizers), err)
		}
		s.Set("lambda_prior", 0)
		if m, err = s.Resolve(); err != nil || strings.Contains(kinds(m.Regularizers), "Prior") {
			t.Errorf("%s without a prior: the pieces are %s, %v", how, kinds(m.Regularizers), err)
		}
		s.Set("lambda_u", 0, "lambda_v", 0)
		if m, err = s.Resolve(); err != nil || strings.Contains(kinds(m.Regularizers), "Orthogonality") {
			t.Errorf("%s without weights: the pieces are %s, %v", how, kinds(m.Regularizers), err)
		}
	}
}

func kinds(pieces []Regularizer) string {
	var all []string
	for _, r := range pieces {
		all = append(all, strings.TrimPrefix(fmt.Sprintf("%T", r), "*objectives."))
	}
	return strings.Join(all, " ")
}

func TestProximalStepEqualsPyTorch(t *testing.T) {
	torch.Test(t, func() {
		g, priors := golden(t)
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-14, torch.Float32: 1e-6} {
			s := leaf(g["s"], dtype)
			r := &ProximalPrior{Prior: priors["polynomial"], Weight: g["proximal/weight"].Item()}
			r.to = SpectrumPrior{s: s, values: g["prior/polynomial"].To(dtype, device)}
			r.Constrain(g["proximal/rate"].Item())
			near(t, "s", s.Float64s(), g["proximal/s"].Float64s(), limit)
			for _, rate := range []float64{0, 1e-300, 1e300} { // no step; none to speak of; straight to the prior
				before := s.Float64s()
				if rate > 1 {
					before = g["prior/polynomial"].Float64s()
				}
				r.Constrain(rate)
				near(t, fmt.Sprint("s after a rate of ", rate), s.Float64s(), before, limit)
			}
		}
	})
}

// TestRetractionGivesTheNearest compares with A B^T of the singular value
// decomposition A S B^T, and checks when it comes and what it leaves alone.
func TestRetractionGivesTheNearest(t *testing.T) {
	for _, size := range sizes {
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-10, torch.Float32: 2e-5} {
			torch.Test(t, func() {
				p := config(size[0], size[1], -1)
				p.DType = dtype
				o, e := held(t, p, func(s *Settings) { s.Set("spectrum_hold", "retraction", "retract_every", 3) })
				defer release(o, p)
				nearest := func(x torch.Tensor, c float64) []float64 {
					a, _, bT := x.Detach().To(torch.Float64, device).SVD()
					return a.MatMul(bT).MulScalar(1 / c).Float64s()
				}
				before := e.u.Float64s()
				u, v := nearest(e.u, e.c), nearest(e.v, 1)
				for range 2 {
					o.Constrain(0)
				}
				near(t, "U before it is due", e.u.Float64s(), before, 0)
				o.Constrain(0)
				near(t, fmt.Sprint(size, " U"), e.u.Float64s(), u, limit)
				near(t, fmt.Sprint(size, " V"), e.v.Float64s(), v, limit)
				du, dv := e.Orthogonality()
				near(t, fmt.Sprint(size, " distances"), []float64{du, dv}, []float64{0, 0}, limit)
				o.Constrain(0)
				for name, count := range o.Buffers() {
					if count.Item() != 1 {
						t.Errorf("%s is %v one update after a retraction", name, count.Item())
					}
				}
			})
		}
	}
}

// TestProximalOrthogonality compares with (X + w Q) / (1 + w) from the singular value decomposition, and checks when it
// comes.
func TestProximalOrthogonality(t *testing.T) {
	for _, size := range sizes {
		for _, scale := range []float64{0, 20} { // of the prior: U's gradients are divided by something, too
			torch.Test(t, func() {
				p := config(size[0], size[1], -1)
				p.SGD = true
				o, e := held(t, p, func(s *Settings) {
					s.Set("spectrum_hold", "proximal", "retract_every", 3, "prior_scale", scale)
					s.Set("lambda_u", 0.3, "lambda_v", 0.7, "lambda_u_spectral", 2, "lambda_v_spectral", 5,
						"lambda_prior", 0)
				})
				defer release(o, p)
				rates := []float64{3, 0.5, 1.5}
				square := e.factors().Square().Mean().Item()
				factor := 8 * e.c * e.c * 5
				want := func(x torch.Tensor, c, w, spectral float64) []float64 {
					a, values, bT := x.Detach().MulScalar(c).SVD()
					all := values.Float64s()
					slices.SortStableFunc(all,
						func(a, b float64) int { return cmp.Compare(math.Abs(b-1), math.Abs(a-1)) })
					stretched := values.Float64s()
					for i, value := range stretched {
						weight := w
						if value == all[0] {
							weight += spectral
						}
						stretched[i] = (value + weight) / (1 + weight)
					}
					return a.Mul(torch.FromFloat64s(stretched, device, int64(len(stretched)))).MatMul(bT).MulScalar(
						1 / c).Float64s()
				}
				before := e.u.Float64s()
				byU, byV := factor/math.Max(1, square), factor/square
				u, v := want(e.u, e.c, byU*0.3, byU*2), want(e.v, 1, byV*0.7, byV*5)
				o.Constrain(rates[0])
				o.Constrain(rates[1])
				near(t, "U before it is due", e.u.Float64s(), before, 0)
				o.Constrain(rates[2])
				near(t, fmt.Sprint(size, " U"), e.u.Float64s(), u, 1e-9)
				near(t, fmt.Sprint(size, " V"), e.v.Float64s(), v, 1e-9)
				o.Constrain(0.25)
				for name, due := range o.Buffers() {
					near(t, name, due.Float64s(), []float64{1, 0.25}, 0)
				}
			})
		}
	}
}

// TestProximalStepIsThePenalties: near orthonormal columns a small proximal step is the step along the penalties'
// gradients, as the preconditioner leaves them.
func TestProximalStepIsThePenalties(t *testing.T) {
	const rate = 1e-3
	torch.Test(t, func() {
		sides := func(hold string) [2][]float64 {
			p := config(31, 6, -1)
			p.SGD = true
			o, e := held(t, p, func(s *Settings) {
				s.Set("spectrum_hold", hold, "prior_scale", 20, "prior_ratio", 1)
				s.Set("lambda_u", 0.3, "lambda_v", 0.7, "lambda_prior", 0)
			})
			defer release(o, p)
			torch.NoGrad(func() {
				noise := torch.NewStream(5, "noise")
				retract(e.u, e.c)
				retract(e.v, 1)
				e.s.Assign(torch.Full(20, torch.Float64, device, 6)) // V's columns are divided by the same
				e.u.Assign(e.u.Add(noise.Normal(0, 1e-4, torch.Float64, device, 31, 6)))
				e.v.Assign(e.v.Add(noise.Normal(0, 1e-4, torch.Float64, device, 6, 6)))
			})
			u, v := e.u.Detach().Clone(), e.v.Detach().Clone()
			torch.ZeroGrad(p.Params.Tensors())
			o.Penalize()
			torch.SGD(p.Params.Tensors(), rate, 0)
			o.Constrain(rate)
			return [2][]float64{e.u.Detach().Sub(u).Float64s(), e.v.Detach().Sub(v).Float64s()}
		}
		want, got := sides("penalty"), sides("proximal")
		for i, side := range []string{"U", "V"} {
			largest := 0.0
			for _, x := range want[i] {
				largest = math.Max(largest, math.Abs(x))
			}
			if largest == 0 {
				t.Fatalf("%s: the penalty does not move it", side)
			}
			near(t, side, got[i], want[i], 0.01*largest)
		}
	})
}

// TestProjectedGradientsAreTangent checks that moving along them keeps columns
// orthonormal to first order, that tangent gradients stay, and what is taken away.
func TestProjectedGradientsAreTangent(t *testing.T) {
	torch.Test(t, func() {
		p := config(31, 6, 1)
		o, e := held(t, p, func(s *Settings) { s.Set("spectrum_hold", "retraction", "retract_every", 1) })
		defer release(o, p)
		o.Constrain(0)
		stream := torch.NewStream(8, "gradients")
		for what, side := range map[string]struct {
			x torch.Tensor
			c float64
		}{"U": {e.u, e.c}, "V": {e.v, 1}} {
			given := stream.Normal(0, 1, torch.Float64, device, side.x.Shape()...)
			side.x.Mul(given).Sum().Backward()
			o.Penalize()
			g := side.x.Grad().Clone()
			orthonormal := side.x.Detach().MulScalar(side.c)
			across := orthonormal.Transpose(0, 1).MatMul(g)
			near(t, what+": what leads away", across.Add(across.Transpose(0, 1)).Float64s(), make([]float64, 36), 1e-13)
			inside := orthonormal.Transpose(0, 1).MatMul(given)
			taken := orthonormal.MatMul(inside.Add(inside.Transpose(0, 1)).MulScalar(0.5))
			near(t, what+": what is left", g.Float64s(), given.Sub(taken).Float64s(), 1e-13)
			o.Penalize()
			near(t, what+": projected again", side.x.Grad().Float64s(), g.Float64s(), 1e-13)
			torch.ZeroGrad(p.Params.Tensors())
		}
		o.Penalize() // no gradients, nothing to project
	})
}

// TestRetractionSurvives gives it columns that are zero, equal, huge and tiny.
func TestRetractionSurvives(t *testing.T) {
	for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
		for what, columns := range map[string][]float64{
			"zero": {0, 0, 0}, "a zero column": {1, 0, 2}, "huge": {1e15, 2e15, 3e15}, "tiny": {1e-15, 1e-15, 2e-15},
			"both": {1e9, 1, 1e-9},
		} {
			torch.Test(t, func() {
				x := torch.NewStream(2, "x").Normal(0, 1, dtype, device, 9,
					3).Mul(torch.FromFloat64s(columns, device, 3).To(dtype, device))
				retract(x, 0.5)
				if !x.AllFinite() {
					t.Errorf("%v, %s: the result is not finite", dtype, what)
				}
				if length := x.MulScalar(0.5).Norm(0, true).MaxDim(1, false).Item(); length > 1.01 {
					t.Errorf("%v, %s: a column of length %v", dtype, what, length)
				}
			})
		}
		torch.Test(t, func() {
			x := torch.NewStream(2, "x").Normal(0, 1, dtype, device, 9, 1).Expand(9, 3).Contiguous()
			if retract(x, 1); !x.AllFinite() {
				t.Errorf("%v: equal columns become infinite", dtype)
			}
		})
	}
}

// TestRetractionContinues restores the count of updates into a new layer.
func TestRetractionContinues(t *testing.T) {
	torch.Test(t, func() {
		change := func(s *Settings) { s.Set("spectrum_hold", "retraction", "retract_every", 3) }
		p, q := config(11, 4, 1), config(11, 4, 1)
		first, _ := held(t, p, change)
		defer release(first, p)
		second, e := held(t, q, change)
		defer release(second, q)
		for range 2 {
			first.Constrain(0)
		}
		for name, x := range second.Buffers() {
			x.Assign(first.Buffers()[name])
		}
		second.Constrain(0)
		if u, v := e.Orthogonality(); u+v > 1e-12 {
			t.Errorf("the third update did not retract: distances %v, %v", u, v)
		}
	})
}

// TestClipGroups checks that U, s and V neither count in the norm of the others
// nor are scaled by it, and that the norm that is returned is that of all.
func TestClipGroups(t *testing.T) {
	torch.Test(t, func() {
		p := config(11, 4, -1)
		other := p.Params.Add("other", torch.Zeros(torch.Float64, device, 2))
		o, e := held(t, p, func(s *Settings) { s.Set("spectrum_hold", "group") })
		defer release(o, p)
		give := func() {
			torch.ZeroGrad(p.Params.Tensors())
			e.u.Sum().Add(e.s.Sum().MulScalar(0.1)).Add(e.v.Sum()).Add(other.Sum().MulScalar(3)).Backward()
		}
		give()
		length := func(x torch.Tensor) float64 { return math.Sqrt(x.Grad().Square().Sum().Item()) }
		all := math.Sqrt(44 + 4*0.01 + 16 + 2*9)
		near(t, "the norm", []float64{JointNorm(torch.Numbers(o.ClipGrad(p.Params.Tensors(), 0)...))}, []float64{all},
			1e-13)
		near(t, "lengths that nothing limits", []float64{length(e.u), length(e.s), length(other)},
			[]float64{math.Sqrt(44), 0.2, math.Sqrt(18)}, 1e-13)
		near(t, "the norm", []float64{JointNorm(torch.Numbers(o.ClipGrad(p.Params.Tensors(), 1)...))}, []float64{all},
			1e-13)
		near(t, "lengths", []float64{length(e.u), length(e.s), length(e.v), length(other)}, []float64{1, 0.2, 1, 1},
			1e-5)
		torch.ZeroGrad(p.Params.Tensors())
	})
	torch.Test(t, func() {
		p := config(11, 4, -1)
		o, e := held(t, p, func(*Settings) {})
		defer release(o, p)
		e.u.Sum().Add(e.s.Sum()).Backward()
		near(t, "the norm of one group", []float64{JointNorm(torch.Numbers(o.ClipGrad(p.Params.Tensors(), 1)...))},
			[]float64{math.Sqrt(48)}, 1e-13)
		near(t, "its shares", []float64{e.s.Grad().Square().Sum().Item()}, []float64{4.0 / 48}, 1e-5)
		torch.ZeroGrad(p.Params.Tensors())
	})
}

// TestConstraintsNeedFactors refuses a dense matrix with a sentence.
func TestConstraintsNeedFactors(t *testing.T) {
	for _, r := range []Regularizer{&Retraction{}, &ProximalPrior{}, &SpectralNormalisation{}, &DOptimal{},
		&Orthogonality{}, &SpectrumPrior{}} {
		if err := r.Init(&Dense{}, Config{}); err == nil ||
			!strings.Contains(err.Error(), "needs a factored embedding") {
			t.Errorf("%T: the error is %v", r, err)
		}
	}
}

// TestNormalisedAverage averages factors that point elsewhere: W stays what the
// averaged factors say, U and V become orthonormal, and s its spectrum.
func TestNormalisedAverage(t *testing.T) {
	for _, size := range sizes {
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-10, torch.Float32: 3e-5} {
			torch.Test(t, func() {
				p := config(size[0], size[1], 0)
				p.DType = dtype
				o, e := held(t, p, func(s *Settings) { s.Set("spectrum_hold", "retraction") })
				defer release(o, p)
				before := e.Matrix().Float64s()
				if !o.FixesAverage() {
					t.Fatal("an average of factors needs no Normalise")
				}
				o.FixAverage(p.Params.Map())
				near(t, fmt.Sprint(size, " W"), e.Matrix().Float64s(), before, limit)
				u, v := e.Orthogonality()
				if p.rows() > 0 { // without rows U is zero
					near(t, fmt.Sprint(size, " distances"), []float64{u, v}, []float64{0, 0}, limit)
					values := e.Matrix().SingularValues().Float64s()
					near(t, fmt.Sprint(size, " s"), e.s.Float64s(), values[:e.s.Count()], limit)
				}
				if !e.u.AllFinite() || !e.v.AllFinite() || !e.s.AllFinite() {
					t.Errorf("%v: the average is not finite", size)
				}
			})
		}
	}
	torch.Test(t, func() {
		p := config(5, 3, 0)
		o := layer(t, unsmoothed(), p)
		defer release(o, p)
		before := p.Params.Tensors()[0].Float64s()
		if o.FixAverage(p.Params.Map()); o.FixesAverage() {
			t.Error("a dense matrix needs Normalise")
		}
		near(t, "W", p.Params.Tensors()[0].Float64s(), before, 0)
	})
}
