package objectives

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// sizes are odd on purpose: tall, square, wider than the vocabulary, single.
var sizes = [][2]int64{{47, 4}, {31, 31}, {5, 8}, {3, 1}, {2, 3}, {1, 4}}

func TestDenseStartsAsFairseq(t *testing.T) {
	torch.Test(t, func() {
		p := config(1000, 64, 3)
		e, err := NewTable(p)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Params.Free()
		if p.Params.Names()[0] != "decoder.embed_tokens.weight" || p.Params.Count() != 64000 {
			t.Errorf("the parameters are %v, %d weights", p.Params.Names(), p.Params.Count())
		}
		w := e.Matrix()
		near(t, "the padding's row", w.Narrow(0, 3, 1).Float64s(), make([]float64, 64), 0)
		variance := w.Square().Sum().Item() / (999 * 64)
		near(t, "standard deviation", []float64{math.Sqrt(variance)}, []float64{math.Pow(64, -0.5)}, 0.01)
		near(t, "mean", []float64{w.Mean().Item()}, []float64{0}, 0.002)
	})
}

func TestPaddingGetsNoGradientFromLookups(t *testing.T) {
	for name, s := range trained() {
		torch.Test(t, func() {
			p := config(31, 7, 2)
			o := layer(t, s, p)
			defer release(o, p)
			rows := o.Lookup(torch.FromInt64s([]int64{2, 5, 2}, device, 3))
			near(t, name+": the padding's vector", rows.Narrow(0, 0, 1).Float64s(), make([]float64, 7), 0)
			rows.Sum().Backward()
			for parameter, g := range gradients(p) {
				if matrix := p.Params.Get(parameter); matrix.Rank() == 2 && matrix.Size(0) == 31 {
					k := matrix.Size(1)
					near(t, name+": "+parameter, g[2*k:3*k], make([]float64, k), 0)
				}
			}
		})
	}
}

// TestStartsOfTheSpectrum checks that U and V start orthonormal, that the
// padding's row is zero, and the singular values, for every start and size.
func TestStartsOfTheSpectrum(t *testing.T) {
	for _, size := range sizes {
		for _, padding := range []int64{-1, 0} {
			for name, start := range starts {
				t.Run(fmt.Sprint(size, padding, name), func(t *testing.T) {
					torch.Test(t, func() {
						p := config(size[0], size[1], padding)
						e := &Factored{Start: start, Prior: Prior{Power: 0.75, Ratio: 0.2}}
						if err := e.Init(p); err != nil {
							t.Fatal(err)
						}
						defer p.Params.Free()
						if v, d := e.Size(); v != size[0] || d != size[1] {
							t.Errorf("the size is (%d, %d)", v, d)
						}
						w := e.Matrix()
						if !w.AllFinite() {
							t.Fatal("W is not finite")
						}
						rows, k := p.rows(), e.s.Size(0)
						if rows == 0 {
							near(t, "W", w.Float64s(), make([]float64, w.Count()), 0)
							return
						}
						for side, x := range map[string]torch.Tensor{"U": e.u.MulScalar(e.c), "V": e.v} {
							excess := torch.OrthogonalityReference(x, torch.Tensor{},
								torch.OrthogonalityOptions{Frobenius: 1}).Item()
							if !(excess < 1e-20) {
								t.Errorf("%s starts %v away from orthonormal columns", side, math.Sqrt(excess))
							}
						}
						values := e.s.Float64s()
						near(t, "singular values of W", w.SingularValues().Float64s()[:k], values, 1e-10)
						switch start {
						case StartSVD:
							near(t, "W", w.Float64s(), initialMatrix(config(size[0], size[1], padding)).Float64s(),
								1e-10)
						case StartPrior:
							near(t, "energy", []float64{w.Square().Sum().Item()}, []float64{float64(rows)}, 1e-10)
						case StartFlat:
							near(t, "energy", []float64{w.Square().Sum().Item()}, []float64{float64(k)}, 1e-10)
						}
						if padding >= 0 {
							near(t, "the padding's row", w.Narrow(0, padding, 1).Float64s(), make([]float64, size[1]),
								0)
						}
					})
				})
			}
		}
	}
}

// TestPenaltiesAreZeroAtTheStart is the reason for starting at the prior.
func TestPenaltiesAreZeroAtTheStart(t *testing.T) {
	for _, method := range []string{"spectrum", "spectrum-poly"} {
		torch.Test(t, func() {
			s := unsmoothed()
			s.Set("method", method, "lambda_u_spectral", 1, "lambda_v_spectral", 1)
			p := config(47, 7, 1)
			o := layer(t, s, p)
			defer release(o, p)
			o.Penalize()
			for name, value := range o.Report() {
				limit := 1e-20
				if strings.HasPrefix(name, "orthogonality_") { // no square of a distance, but the distance
					limit = 1e-13
				}
				near(t, method+": "+name, []float64{value}, []float64{0}, limit)
			}
			for name, g := range gradients(p) {
				near(t, method+": gradient of "+name, g, make([]float64, len(g)), 1e-12)
			}
			if n := len(o.Report()); n != 4 {
				t.Errorf("%s reports %d values, want orthogonality and prior, and the distances of U and V", method, n)
			}
		})
	}
}

// TestFlippedSigns turns u_k and v_k together: W and what it costs stay.
func TestFlippedSigns(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Method = "spectrum"
		p := config(47, 7, 1)
		o := layer(t, s, p)
		defer release(o, p)
		e := o.Embedding().(*Factored)
		moved(p)
		before := e.Matrix().Float64s()
		o.Penalize()
		penalties := o.Report()
		signs := torch.FromFloat64s([]float64{1, -1, 1, -1, -1, 1, 1}, device, 7)
		torch.NoGrad(func() {
			e.u.Assign(e.u.Mul(signs))
			e.v.Assign(e.v.Mul(signs))
		})
		near(t, "W", e.Matrix().Float64s(), before, 1e-14)
		o.Penalize()
		for name, value := range o.Report() {
			near(t, name, []float64{value}, []float64{penalties[name]}, 1e-13)
		}
		torch.ZeroGrad(p.Params.Tensors())
	})
}

// moved takes the parameters away from their start.
func moved(p Config) {
	s := torch.NewStream(3, "moved")
	torch.NoGrad(func() {
		for _, x := range p.Params.Tensors() {
			x.Assign(x.Add(s.Normal(0, 0.1, x.DType(), x.Device(), x.Shape()...)))
		}
	})
}

// TestLogitsOfFactors compares scores, lookups and singular values with those of W.
func TestLogitsOfFactors(t *testing.T) {
	for _, size := range sizes {
		torch.Test(t, func() {
			p := config(size[0], size[1], -1)
			s := unsmoothed()
			s.Method = "spectrum"
			o := layer(t, s, p)
			defer release(o, p)
			moved(p)
			w := o.Embedding().Matrix()
			stream := torch.NewStream(4, "data")
			h := stream.Normal(0, 1, torch.Float64, device, 11, size[1])
			near(t, "log-probabilities", o.LogProbs(h).Float64s(),
				torch.Linear(h, w, torch.Tensor{}).LogSoftmax(1).Float64s(), 1e-12)
			ids := stream.Uniform(0, float64(size[0]), torch.Float64, device, 3, 5).To(torch.Int64, device)
			near(t, "lookup", o.Lookup(ids).Float64s(), torch.Embedding(w, ids, -1).Float64s(), 1e-12)
		})
	}
}

// TestGradientsOfFactors compares the gradients of U, s and V with finite
// differences of the loss and the penalties together.
func TestGradientsOfFactors(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Set("method", "spectrum", "label_smoothing", 0.1, "bias", true)
		p := config(13, 4, 1)
		o := layer(t, s, p)
		defer release(o, p)
		moved(p)
		stream := torch.NewStream(4, "data")
		ids := torch.FromInt64s([]int64{4, 2, 12, 0, 7}, device, 5)
		targets := torch.FromInt64s([]int64{2, 12, 1, 7, 3}, device, 5)
		noise := stream.Normal(0, 1, torch.Float64, device, 5, 4)
		loss := func() torch.Tensor {
			loss, _ := o.Loss(torch.States{Hidden: o.Lookup(ids).Mul(noise)}, targets, 0.25)
			return loss
		}
		loss().Backward()
		o.Penalize()
		analytic := gradients(p)
		total := func() float64 {
			sum := loss().Item()
			for _, r := range o.method.Regularizers {
				sum += r.(Penalty).Penalty().Item()
			}
			return sum
		}
		for _, name := range p.Params.Names() {
			x := p.Params.Get(name)
			elements := x.Float64s()
			differences := make([]float64, len(elements))
			for i, e := range elements {
				at := func(value float64) float64 {
					elements[i] = value
					torch.NoGrad(func() { x.Assign(torch.FromFloat64s(elements, device, x.Shape()...)) })
					return total()
				}
				differences[i] = (at(e+1e-5) - at(e-1e-5)) / 2e-5
				at(e)
			}
			near(t, name, analytic[name], differences, 1e-7)
		}
	})
}
