package objectives

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

func TestTableListsEveryMethod(t *testing.T) {
	listed := []string{}
	for _, row := range Table() {
		listed = append(listed, row.Name)
		if row.Formula == "" || row.Parameters == "" || row.Cost == "" {
			t.Errorf("the row of %s is not complete: %+v", row.Name, row)
		}
	}
	if fmt.Sprint(listed) != fmt.Sprint(names) {
		t.Errorf("the table lists %v, the methods are %v", listed, names)
	}
	for _, name := range listed {
		s := Defaults()
		s.Method = name
		if _, err := s.Resolve(); err != nil {
			t.Error(err)
		}
	}
}

func TestMethodsArePieces(t *testing.T) {
	resolve := func(change func(*Settings)) string {
		s := Defaults()
		change(&s)
		m, err := s.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%T %T", m.Embedding, m.Likelihood)
		if m.Perturbation != nil {
			text += fmt.Sprintf(" %T", m.Perturbation)
		}
		for _, r := range m.Regularizers {
			text += fmt.Sprintf(" %T", r)
			if p, ok := r.(*SpectrumPrior); ok {
				text += fmt.Sprintf("(%d)", p.Kind)
			}
		}
		return strings.ReplaceAll(text, "*objectives.", "")
	}
	for want, change := range map[string]func(*Settings){
		"Dense Softmax":                    func(s *Settings) {},
		"Dense Softmax Cosine":             func(s *Settings) { s.Method = "cosreg" },
		"Dense Softmax ":                   func(s *Settings) { s.Method, s.Gamma = "cosreg", 0 },
		"Dense Softmax Adversarial":        func(s *Settings) { s.Method = "adversarial" },
		"Dense Softmax Adversarial Cosine": func(s *Settings) { s.Method = "cosreg+adversarial" },
		"Factored Softmax Adversarial Orthogonality SpectrumPrior(0)":        func(s *Settings) { s.Method = "adversarial+spectrum" },
		"Factored Softmax Adversarial Orthogonality SpectrumPrior(0) Cosine": func(s *Settings) { s.Method = "spectrum+cosreg+adversarial" },
		"Factored Softmax Orthogonality SpectrumPrior(0)":                    func(s *Settings) { s.Method = "spectrum" },
		"Factored Softmax Orthogonality SpectrumPrior(1)":                    func(s *Settings) { s.Method = "spectrum-poly" },
		"Factored Softmax Orthogonality SpectrumPrior(1) ":                   func(s *Settings) { s.Method, s.Prior = "spectrum", "polynomial" },
		"Factored Softmax Orthogonality":                                     func(s *Settings) { s.Method, s.Prior = "spectrum", "none" },
		"Factored Softmax Orthogonality ":                                    func(s *Settings) { s.Method, s.LambdaPrior = "spectrum-poly", 0 },
		"Factored Softmax SpectrumPrior(0)":                                  func(s *Settings) { s.Method, s.LambdaU, s.LambdaV = "spectrum", 0, 0 },
	} {
		if got := resolve(change); got != strings.TrimSpace(want) {
			t.Errorf("the pieces are %s, want %s", got, want)
		}
	}
}

// score is a likelihood without a softmax, and shift a perturbation.
type (
	score struct{ Likelihood }
	shift struct{ Perturbation }
	soft  struct {
		Likelihood
		with Perturbation
	}
)

func (l *soft) Perturb(p Perturbation) { l.with = p }

func TestWhatJoins(t *testing.T) {
	pieces := map[string]Method{
		"dense":    {Embedding: &Dense{}},
		"factored": {Embedding: &Factored{}, Regularizers: []Regularizer{&Orthogonality{}}},
		"prior":    {Regularizers: []Regularizer{&SpectrumPrior{}}},
		"mixture":  {Likelihood: &soft{}},
		"sphere":   {Likelihood: score{}},
		"noise":    {Perturbation: shift{}},
		"other":    {Perturbation: shift{}},
	}
	joined := func(names string) (Method, error) {
		var j join
		for _, name := range strings.Split(names, "+") {
			if err := j.add(name, pieces[name]); err != nil {
				return Method{}, err
			}
		}
		return j.complete(Defaults())
	}
	for names, want := range map[string]string{
		"dense+factored":  "dense and factored do not join: each says how the output matrix is parameterised",
		"sphere+mixture":  "sphere and mixture do not join: each says how a hidden state is scored",
		"noise+other":     "noise and other do not join: each perturbs",
		"sphere+noise":    "sphere and noise do not join: noise lowers the target's score before a softmax, and sphere has no softmax",
		"dense+dense":     "names dense twice",
		"mixture+noise":   "",
		"factored+prior":  "",
		"prior+mixture":   "",
		"factored+sphere": "",
	} {
		_, err := joined(names)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", names, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: the error is %v, want one with %q", names, err, want)
		}
	}
	m, err := joined("mixture+noise")
	if err != nil || m.Likelihood.(*soft).with == nil {
		t.Errorf("the mixture was not told of the noise (%v)", err)
	}
	if m, err = joined("factored+prior"); err != nil || len(m.Regularizers) != 2 {
		t.Errorf("regularizers do not add up: %v (%v)", m.Regularizers, err)
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		`there is no method "spektrum": the methods are mle, `:              func(s *Settings) { s.Method = "spektrum" },
		`there is no method "spectrumpoly"`:                                 func(s *Settings) { s.Method = "mle+spectrumpoly" },
		`there is no method ""`:                                             func(s *Settings) { s.Method = "" },
		`mle and spectrum do not join`:                                      func(s *Settings) { s.Method = "mle+spectrum" },
		`spectrum and spectrum-poly do not join`:                            func(s *Settings) { s.Method = "spectrum+spectrum-poly" },
		`names mle twice`:                                                   func(s *Settings) { s.Method = "mle+mle" },
		`objective.label_smoothing is 1: it must be at least 0 and below 1`: func(s *Settings) { s.LabelSmoothing = 1 },
		`objective.lambda_u is -1: it must be a number of at least 0`:       func(s *Settings) { s.LambdaU = -1 },
		`objective.lambda_v_spectral is NaN: it must be`:                    func(s *Settings) { s.LambdaVSpectral = math.NaN() },
		`objective.lambda_prior is +Inf: it must be`:                        func(s *Settings) { s.LambdaPrior = math.Inf(1) },
		`objective.prior_power is 0: it must be a number above 0`:           func(s *Settings) { s.PriorPower = 0 },
		`objective.prior_ratio is 1.5: it must be above 0 and at most 1`:    func(s *Settings) { s.PriorRatio = 1.5 },
		`objective.smoothing is "marian": use fairseq, pytorch or t2t`:      func(s *Settings) { s.Smoothing = "marian" },
		`objective.gamma is NaN: it must be a number of at least 0`:         func(s *Settings) { s.Gamma = math.NaN() },
		`objective.alpha is -0.1: it must be a number of at least 0`:        func(s *Settings) { s.Alpha = -0.1 },
		`objective.adversarial_mode is "Code": use code, paper or full`:     func(s *Settings) { s.AdversarialMode = "Code" },
		`objective.adversarial_radius is "": use adaptive or fixed`:         func(s *Settings) { s.AdversarialRadius = "" },
		`objective.prior is "flat": use exponential, polynomial or none`:    func(s *Settings) { s.Prior = "flat" },
		`objective.spectrum_init is "": use svd, prior or flat`:             func(s *Settings) { s.SpectrumInit = "" },
	} {
		s := Defaults()
		change(&s)
		if _, err := s.Resolve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
}

func TestPlacesThatMakeNoSense(t *testing.T) {
	torch.Test(t, func() {
		for want, change := range map[string]func(*Place){
			"a matrix of 0 by 4":                     func(p *Place) { p.Vocabulary = 0 },
			"a matrix of 5 by 0":                     func(p *Place) { p.Width = 0 },
			"padding is symbol 5 of a vocabulary":    func(p *Place) { p.Padding = 5 },
			"needs a list that takes its parameters": func(p *Place) { p.Params = nil },
			"a stream that draws":                    func(p *Place) { p.Stream = nil },
		} {
			p := place(5, 4, 0)
			change(&p)
			if _, err := New(Defaults(), p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one with %q", err, want)
			}
			if _, err := NewTable(p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error of a table is %v, want one with %q", err, want)
			}
		}
		p := place(5, 4, 0)
		if _, err := NewTable(p); err != nil {
			t.Error(err)
		}
		if _, err := New(Defaults(), p); err == nil || !strings.Contains(err.Error(), "is taken") {
			t.Errorf("a second layer of the same name: the error is %v", err)
		}
		p.Params.Free()
	})
}

// TestPlain: only the perturbation and the factors go, what is left is a method, and with the weights that it is given it scores alike.
func TestPlain(t *testing.T) {
	for method, want := range map[string]string{
		"adversarial": "mle", "spectrum+adversarial": "mle", "adversarial+cosreg": "cosreg", "mle": "mle", "cosreg": "cosreg", "adversarial+adaptive+spectrum": "adaptive",
		"spectrum-poly": "mle", "sn-doptimal": "mle", "mos+sn": "mos",
	} {
		if got := Plain(method); got != want {
			t.Errorf("%s made plain is %s, want %s", method, got, want)
		}
	}
	for name, s := range methods() {
		torch.Test(t, func() {
			p, q := place(31, 7, 2), place(31, 7, 2)
			o := layer(t, s, p)
			defer release(o, p)
			s.Method = Plain(s.Method)
			q.Stream = torch.NewStream(2, "init") // another one, so that only the weights can make them alike
			plain := layer(t, s, q)
			defer release(plain, q)
			weights := p.Params.Map()
			o.Plain(weights)
			if err := q.Params.Load(weights); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			hidden := torch.NewStream(4, "data").Normal(0, 1, torch.Float64, torch.CPU, 5, 7)
			near(t, name+": log-probabilities", plain.LogProbs(hidden).Float64s(), o.LogProbs(hidden).Float64s(), 1e-12)
			ids := torch.FromInt64s([]int64{2, 5, 30}, torch.CPU, 3)
			near(t, name+": word vectors", plain.Lookup(ids).Float64s(), o.Lookup(ids).Float64s(), 1e-12)
		})
	}
}

// TestIsAdaptive: whatever it joins with.
func TestIsAdaptive(t *testing.T) {
	for method, want := range map[string]bool{"adaptive": true, "spectrum+adaptive": true, "adaptive+adversarial": true, "mle": false, "mos": false, "spectrum+adversarial": false, "none such": false} {
		if got := IsAdaptive(method); got != want {
			t.Errorf("%s: %v, want %v", method, got, want)
		}
	}
}
