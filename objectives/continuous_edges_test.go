package objectives

import (
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestZeroRowsNeverWin: with every real word on the far side, rows of zeros would have the
// largest dot product.
func TestZeroRowsNeverWin(t *testing.T) {
	torch.Test(t, func() {
		for name, s := range continuousMethods() {
			s.Set("map_norm", false)
			p := config(5, 2, 1)
			p.Vectors = torch.FromFloat64s([]float64{0, 0, 0, 0, 1, 0.1, 0, 0, 1, -0.1}, device, 5, 2)
			o := layer(t, s, p)
			p.Params.Get("decoder.output_projection.map.weight").Assign(torch.FromFloat64s([]float64{1, 0, 0, 1},
				device, 2, 2))
			_, ids, _ := o.Nearest(torch.FromFloat64s([]float64{-5, 1, -5, -1, 0, 0}, device, 3, 2), 1)
			for i, id := range ids.Int64s() {
				if id != 2 && id != 4 {
					t.Errorf("%s: row %d finds symbol %d, which has no vector", name, i, id)
				}
			}
			release(o, p)
		}
	})
}

// TestContinuousAtTheEdges: no rows, ignored rows, one word with and without a vector, and hidden
// states of zero and beyond all measure leave everything finite.
func TestContinuousAtTheEdges(t *testing.T) {
	for name, s := range continuousMethods() {
		for _, c := range []struct {
			what       string
			n, v       int64
			padding    int64
			target     float64
			size       float64
			noVectors  bool
			wantNoLoss bool
		}{
			{what: "no rows", v: 31, padding: 1, target: 2, size: 1},
			{what: "only padding", n: 5, v: 31, padding: 1, target: 1, size: 1, wantNoLoss: true},
			{what: "one word", n: 5, v: 1, padding: -1, size: 1},
			{what: "one word without a vector", n: 5, v: 1, padding: -1, size: 1, noVectors: true},
			{what: "zero states", n: 4, v: 9, padding: 1, target: 3},
			{what: "tiny states", n: 4, v: 9, padding: 1, target: 3, size: 1e-30},
			{what: "huge states", n: 4, v: 9, padding: 1, target: 3, size: 1e12},
		} {
			t.Run(name+"/"+c.what, func(t *testing.T) {
				torch.Test(t, func() {
					p := aimed(max(c.v, 2), 4, 3, c.padding)
					p.Vocabulary, p.Vectors = c.v, p.Vectors.Narrow(0, max(c.v, 2)-c.v, c.v)
					if c.noVectors {
						p.Vectors = p.Vectors.MulScalar(0)
					}
					p.DType = torch.Float32
					o := layer(t, s, p)
					defer release(o, p)
					hidden := torch.NewStream(4, "data").Normal(0, 1, torch.Float32, device, c.n,
						4).MulScalar(c.size).Clone()
					hidden.SetRequiresGrad(true)
					targets := torch.Full(c.target, torch.Int64, device, c.n)
					loss, nll := o.Loss(torch.States{Hidden: hidden}, targets, 0.5)
					loss.Backward()
					o.Penalize()
					for parameter, g := range gradients(p) {
						if !torch.FromFloat64s(g, device, int64(len(g))).AllFinite() {
							t.Errorf("the gradient of %s is %v", parameter, g)
						}
					}
					clean, scores := o.NLL(torch.States{Hidden: hidden}, targets), o.LogProbs(hidden.Detach())
					if !loss.AllFinite() || !nll.AllFinite() || !clean.AllFinite() || !scores.AllFinite() ||
						!hidden.Grad().AllFinite() {
						t.Errorf("loss %v, clean %v and %v, gradient %v", loss.Item(), nll.Float64s(), clean.Float64s(),
							hidden.Grad().Float64s())
					}
					if c.wantNoLoss && (loss.Item() != 0 || hidden.Grad().Abs().Sum().Item() != 0) {
						t.Errorf("ignored targets have the loss %v", loss.Item())
					}
					if best, ids, _ := o.Nearest(hidden.Detach(), 1); !best.AllFinite() || ids.Count() != c.n {
						t.Errorf("nearest words %v of score %v", ids.Int64s(), best.Float64s())
					}
				})
			})
		}
	}
}

func TestContinuousRefuses(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Method = "vmf"
		for want, change := range map[string]func(*Config){
			"name a file with -vectors":    func(p *Config) { p.Vectors = torch.Tensor{} },
			"do not fit a vocabulary of 9": func(p *Config) { p.Vectors = p.Vectors.Narrow(0, 0, 8) },
			"has a component that is no finite " +
				"number": func(p *Config) { p.Vectors = p.Vectors.MulScalar(math.Inf(1)) },
			"target vectors of shape [27] do not fit a v": func(p *Config) { p.Vectors = p.Vectors.Reshape(27) },
		} {
			p := aimed(9, 4, 3, 1)
			change(&p)
			if _, err := New(s, p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one with %q", err, want)
			}
			p.Params.Free()
		}
	})
	for method, want := range map[string]string{
		"vmf+l2":       "vmf and l2 do not join: each says how the output matrix is parameterised",
		"vmf+spectrum": "vmf and spectrum do not join: each says how the output matrix is parameterised",
		"mle+cosine":   "mle and cosine do not join",
		"vmf+adversarial": "vmf and adversarial do not join: adversarial lowers the target's score before a softmax, " +
			"and vmf has no softmax",
	} {
		s := unsmoothed()
		s.Method = method
		if _, err := s.Resolve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", method, err, want)
		}
	}
	var j join
	aiming := vmf.Build(Defaults(), false)
	aiming.Needs = vmf.Needs
	if err := j.add("vmf", aiming); err != nil {
		t.Fatal(err)
	}
	with := j
	if err := with.add("prior", Pieces{Regularizers: []Regularizer{&SpectrumPrior{}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := with.complete(Defaults()); err == nil ||
		!strings.Contains(err.Error(), "the target vectors of vmf are frozen") {
		t.Errorf("a penalty on frozen vectors: the error is %v", err)
	}
	with = j
	if err := with.add("noise", Pieces{Perturbation: shift{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := with.complete(Defaults()); err == nil || !strings.Contains(err.Error(), "vmf has no softmax") {
		t.Errorf("a perturbation of a density: the error is %v", err)
	}
	for want, change := range map[string]func(*Settings){
		`objective.vmf_form = "raw" is out of range: it wants one of nll, reg1, reg2, both, log1p`: func(
			s *Settings) {
			s.Set("vmf_form", "raw")
		},
		`objective.l2_form = "" is out of range: it wants one of squared, rooted`: func(
			s *Settings) {
			s.Set("l2_form", "")
		},
		`objective.margin = -1.0 is out of range: it wants`: func(
			s *Settings) {
			s.Set("margin", -1)
		},
		`objective.vmf_lambda1 = nan`: func(
			s *Settings) {
			s.Set("vmf_lambda1", math.NaN())
		},
	} {
		s := unsmoothed()
		change(&s)
		if _, err := s.Resolve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
}

func TestWhichMethodsAreContinuous(t *testing.T) {
	for method, want := range map[string]bool{
		"vmf": true, "l2": true, "cosine": true, "maxmargin": true, "powerspherical": true, "mle": false,
		"spectrum": false, "nonsense": false, "mle+vmf": false,
	} {
		s := Defaults()
		s.Method = method
		if m, err := s.Resolve(); m.WordTargets != want ||
			(err != nil) != (method == "nonsense" || method == "mle+vmf") {
			t.Errorf("%s predicts vectors of words: %v", method, !want)
		}
	}
}

// TestContinuousWidths: a decoder that reads words as D numbers may end in hidden states
// of another width; one loss and its gradients are those of the map alone.
func TestContinuousWidths(t *testing.T) {
	for name, s := range continuousMethods() {
		t.Run(name, func(t *testing.T) {
			torch.Test(t, func() {
				const n, v, d, wide, m = 6, 13, 4, 7, 5
				p := aimed(v, d, m, 1)
				p.Hidden = wide
				o := layer(t, s, p)
				defer release(o, p)
				hidden := leaf(torch.NewStream(3, "data").Normal(0, 1, torch.Float64, device, n, wide), torch.Float64)
				targets := torch.FromInt64s([]int64{0, 1, 2, 3, 4, 12}, device, n)
				if words := o.Lookup(targets); words.Size(1) != d {
					t.Errorf("words are read as %d numbers, want %d", words.Size(1), d)
				}
				loss, _ := o.Loss(torch.States{Hidden: hidden}, targets, 1)
				loss.Backward()
				weight := p.Params.Get(p.Output + ".map.weight")
				near(t, "shape of the map", []float64{float64(weight.Size(0)), float64(weight.Size(1))},
					[]float64{m, wide}, 0)
				near(t, "gradient of hidden times hidden", hidden.Grad().Mul(hidden).Sum().Float64s(),
					weight.Grad().Mul(weight).Sum().Float64s(), 1e-12)
				if scores := o.LogProbs(hidden); scores.Size(0) != n || scores.Size(1) != v {
					t.Errorf("the scores have shape %v", scores.Shape())
				}
			})
		})
	}
}
