package objectives

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/torch"
)

func TestMethodsAreComplete(t *testing.T) {
	for i, m := range methods {
		if m.Summary == "" || m.Formula == "" || m.Parameters == "" || m.Cost == "" || (m.Paper == "") != (i == 0) {
			t.Errorf("the description of %s is not complete: %+v", m.Name, m)
		}
		s := unsmoothed()
		s.Method = m.Name
		if _, err := s.Resolve(); err != nil {
			t.Error(err)
		}
	}
}

// TestSettingsAreValues: a copy that is changed leaves the original alone, and the other way round.
func TestSettingsAreValues(t *testing.T) {
	a := Defaults()
	b := a
	b.Set("gamma", 3, "alpha", 0.25)
	a.Set("gamma", 5)
	if x, y := Of[CosineSettings](a).Gamma, Of[CosineSettings](b).Gamma; x != 5 || y != 3 {
		t.Errorf("gamma is %v and %v", x, y)
	}
	if x, y, z := Of[AdversarialSettings](a).Alpha, Of[AdversarialSettings](b).Alpha,
		Of[AdversarialSettings](Defaults()).Alpha; x != z || y != 0.25 {
		t.Errorf("alpha is %v, %v and %v", x, y, z)
	}
}

func TestMethodsArePieces(t *testing.T) {
	resolve := func(change func(*Settings)) string {
		s := unsmoothed()
		change(&s)
		m, err := s.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%T %T", m.Embedding, m.Likelihood)
		if m.Perturbation != nil {
			text += fmt.Sprintf(" %T", m.Perturbation)
		}
		for _, term := range m.Terms {
			if _, smoothing := term.(LabelSmoothing); !smoothing {
				text += fmt.Sprintf(" %T", term)
			}
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
		"Dense Softmax":                      func(s *Settings) {},
		"Dense Softmax Cosine":               func(s *Settings) { s.Method = "cosreg" },
		"Dense Softmax ":                     func(s *Settings) { s.Set("method", "cosreg", "gamma", 0) },
		"Dense Softmax objectives.ScoreTerm": func(s *Settings) { s.Method = "zloss" },
		"Dense Softmax Adversarial":          func(s *Settings) { s.Method = "adversarial" },
		"Dense Softmax Adversarial Cosine":   func(s *Settings) { s.Method = "cosreg+adversarial" },
		"Factored Softmax Adversarial Orthogonality " +
			"SpectrumPrior(0)": func(s *Settings) { s.Method = "adversarial+spectrum" },
		"Factored Softmax Adversarial Orthogonality SpectrumPrior(0) " +
			"Cosine": func(s *Settings) { s.Method = "spectrum+cosreg+adversarial" },
		"Factored Softmax Orthogonality SpectrumPrior(0)": func(
			s *Settings) {
			s.Method = "spectrum"
		},
		"Factored Softmax Orthogonality SpectrumPrior(1)": func(
			s *Settings) {
			s.Method = "spectrum-poly"
		},
		"Factored Softmax Orthogonality SpectrumPrior(1) " +
			"": func(s *Settings) { s.Set("method", "spectrum", "prior", "polynomial") },
		"Factored Softmax Orthogonality": func(s *Settings) {
			s.Set("method",
				"spectrum", "prior", "none")
		},
		"Factored Softmax Orthogonality ": func(s *Settings) {
			s.Set("method",
				"spectrum-poly", "lambda_prior", 0)
		},
		"Factored Softmax SpectrumPrior(0)": func(s *Settings) {
			s.Set("method",
				"spectrum", "lambda_u", 0, "lambda_v", 0)
		},
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
		softmaxTraining
	}
)

func TestWhatJoins(t *testing.T) {
	pieces := map[string]Pieces{
		"dense":    {Embedding: &Dense{}},
		"factored": {Embedding: &Factored{}, Regularizers: []Regularizer{&Orthogonality{}}},
		"prior":    {Regularizers: []Regularizer{&SpectrumPrior{}}},
		"mixture":  {Likelihood: &soft{}},
		"sphere":   {Likelihood: score{}},
		"noise":    {Perturbation: shift{}},
		"other":    {Perturbation: shift{}},
		"term":     {Terms: []LossTerm{LabelSmoothing{}}},
	}
	joined := func(names string) (Pieces, error) {
		var j join
		for _, name := range strings.Split(names, "+") {
			if err := j.add(name, pieces[name]); err != nil {
				return Pieces{}, err
			}
		}
		return j.complete(Defaults())
	}
	for names, want := range map[string]string{
		"dense+factored": "dense and factored do not join: each says how the output matrix is parameterised",
		"sphere+mixture": "sphere and mixture do not join: each says how a hidden state is scored",
		"noise+other":    "noise and other do not join: each perturbs",
		"sphere+noise": "sphere and noise do not join: noise lowers the target's score before a softmax, and " +
			"sphere has no softmax",
		"dense+dense":     "names dense twice",
		"sphere+term":     "sphere and term do not join: term is a term of a softmax's loss, and sphere has no softmax",
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
	if err != nil || m.Likelihood.(*soft).by == nil {
		t.Errorf("the mixture was not told of the noise (%v)", err)
	}
	if m, err = joined("term+mixture"); err != nil || len(m.Likelihood.(*soft).terms) != 2 {
		t.Errorf("the mixture was not told of the term beside label smoothing (%v)", err)
	}
	if m, err = joined("factored+prior"); err != nil || len(m.Regularizers) != 2 {
		t.Errorf("regularizers do not add up: %v (%v)", m.Regularizers, err)
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		`there is no method "spektrum": the methods are mle, `: func(
			s *Settings) {
			s.Method = "spektrum"
		},
		`there is no method "spectrumpoly"`: func(
			s *Settings) {
			s.Method = "mle+spectrumpoly"
		},
		`a plus without one beside it`: func(
			s *Settings) {
			s.Method = ""
		},
		`mle and spectrum do not join`: func(
			s *Settings) {
			s.Method = "mle+spectrum"
		},
		`spectrum and spectrum-poly do not join`: func(
			s *Settings) {
			s.Method = "spectrum+spectrum-poly"
		},
		`names mle twice`: func(
			s *Settings) {
			s.Method = "mle+mle"
		},
		`objective.label_smoothing = 1.0 is out of range: it wants`: func(
			s *Settings) {
			s.Set("label_smoothing", 1)
		},
		`objective.lambda_u = -1.0 is out of range: it wants`: func(
			s *Settings) {
			s.Set("lambda_u", -1)
		},
		`objective.lambda_v_spectral = nan is out of range: it wants`: func(
			s *Settings) {
			s.Set("lambda_v_spectral", math.NaN())
		},
		`objective.lambda_prior = +inf is out of range: it wants`: func(
			s *Settings) {
			s.Set("lambda_prior", math.Inf(1))
		},
		`objective.prior_power = 11.0 is out of range: it wants`: func(
			s *Settings) {
			s.Set("prior_power", 11)
		},
		`objective.prior_ratio = 1.5 is out of range: it wants a number above 0 and at most 1`: func(
			s *Settings) {
			s.Set("prior_ratio", 1.5)
		},
		`objective.smoothing = "marian" is out of range: it wants one of fairseq, pytorch, t2t`: func(
			s *Settings) {
			s.Set("smoothing", "marian")
		},
		`objective.gamma = nan is out of range: it wants`: func(
			s *Settings) {
			s.Set("gamma", math.NaN())
		},
		`objective.alpha = -0.1 is out of range: it wants`: func(
			s *Settings) {
			s.Set("alpha", -0.1)
		},
		`objective.adversarial_mode = "Code" is out of range: it wants`: func(
			s *Settings) {
			s.Set("adversarial_mode", "Code")
		},
		`objective.prior = "flat" is out of range: it wants`: func(
			s *Settings) {
			s.Set("prior", "flat")
		},
		`objective.spectrum_init = "" is out of range: it wants`: func(
			s *Settings) {
			s.Set("spectrum_init", "")
		},
	} {
		s := unsmoothed()
		change(&s)
		if _, err := s.Resolve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
}

func TestPlacesThatMakeNoSense(t *testing.T) {
	torch.Test(t, func() {
		for want, change := range map[string]func(*Config){
			"a matrix of 0 by 4":                     func(p *Config) { p.Vocabulary = 0 },
			"a matrix of 5 by 0":                     func(p *Config) { p.Width = 0 },
			"padding is symbol 5 of a vocabulary":    func(p *Config) { p.Padding = 5 },
			"needs a list that takes its parameters": func(p *Config) { p.Params = nil },
			"a stream that draws":                    func(p *Config) { p.Stream = nil },
		} {
			p := config(5, 4, 0)
			change(&p)
			if _, err := New(unsmoothed(), p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one with %q", err, want)
			}
			if _, err := NewTable(p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error of a table is %v, want one with %q", err, want)
			}
		}
		p := config(5, 4, 0)
		if _, err := NewTable(p); err != nil {
			t.Error(err)
		}
		if _, err := New(unsmoothed(), p); err == nil || !strings.Contains(err.Error(), "is taken") {
			t.Errorf("a second layer of the same name: the error is %v", err)
		}
		p.Params.Free()
	})
}

// TestSimplified: only the perturbation and the factors go, what is left is a method, and with the weights that it is
// given it scores alike.
func TestSimplified(t *testing.T) {
	for method, want := range map[string]string{
		"adversarial": "mle", "spectrum+adversarial": "mle", "adversarial+cosreg": "cosreg", "mle": "mle",
		"cosreg": "cosreg", "adversarial+adaptive+spectrum": "adaptive",
		"spectrum-poly": "mle", "sn-doptimal": "mle", "mos+sn": "mos",
	} {
		s := Defaults()
		s.Method = method
		if got := s.Simplified(); got.Method != want || Of[SoftmaxSettings](got).LabelSmoothing != 0 {
			t.Errorf("%s simplified is %s with smoothing %v, want %s without", method, got.Method,
				Of[SoftmaxSettings](got).LabelSmoothing, want)
		}
	}
	for name, s := range trained() {
		torch.Test(t, func() {
			p, q := config(31, 7, 2), config(31, 7, 2)
			o := layer(t, s, p)
			defer release(o, p)
			s.Set("mixture_dropout", 0.5)
			if s = s.Simplified(); Of[MixtureSettings](s).MixtureDropout != 0 {
				t.Errorf("%s: a layer that follows a text drops latent states out", name)
			}
			q.Stream = torch.NewStream(2, "init") // another one, so that only the weights can make them alike
			simple := layer(t, s, q)
			defer release(simple, q)
			weights := p.Params.Map()
			o.Simplify(weights)
			if err := q.Params.Load(weights); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			hidden := torch.NewStream(4, "data").Normal(0, 1, torch.Float64, device, 5, 7)
			near(t, name+": log-probabilities", simple.LogProbs(hidden).Float64s(), o.LogProbs(hidden).Float64s(),
				1e-12)
			ids := torch.FromInt64s([]int64{2, 5, 30}, device, 3)
			near(t, name+": word vectors", simple.Lookup(ids).Float64s(), o.Lookup(ids).Float64s(), 1e-12)
		})
	}
}

// TestFrequentFirst: whatever the adaptive softmax joins with.
func TestFrequentFirst(t *testing.T) {
	for method, want := range map[string]bool{"adaptive": true, "spectrum+adaptive": true, "adaptive+adversarial": true,
		"mle": false, "mos": false, "spectrum+adversarial": false} {
		s := Defaults()
		if s.Method = method; resolved(s).FrequentFirst != want {
			t.Errorf("%s: want %v", method, want)
		}
	}
}

// TestJoinsAreMutual: what a method joins with joins with it, and nothing joins with itself.
func TestJoinsAreMutual(t *testing.T) {
	for _, m := range methods {
		a := m.Name
		if slices.Contains(Joins(a), a) {
			t.Errorf("%s joins with itself", a)
		}
		for _, other := range methods {
			b := other.Name
			if a != "mle" && b != "mle" && slices.Contains(Joins(a), b) != slices.Contains(Joins(b), a) {
				t.Errorf("%s and %s join in one order only", a, b)
			}
		}
	}
	if got := Joins("spectrum"); !slices.Contains(got, "adversarial") || !slices.Contains(got, "cosreg") ||
		slices.Contains(got, "spectrum-poly") {
		t.Errorf("spectrum joins with %v", got)
	}
}

// TestMethodsReadTheirKeys: each key of a method changes its pieces, so that a key without effect is named to the user
// (Settings.Reads).
func TestMethodsReadTheirKeys(t *testing.T) {
	for _, m := range methods {
		differ := func(a, b Settings) bool {
			x, err := a.resolve(false)
			y, refused := b.resolve(false)
			if err != nil {
				t.Fatal(err)
			}
			return refused == nil && !reflect.DeepEqual(x, y)
		}
		for _, k := range schema().Keys() {
			if k.Part == nil || !holds(m.Settings, k.Part) || k.Part == (vectors.Options{}) {
				continue
			}
			s := Defaults()
			s.Method = m.Name
			if differ(s, s) {
				continue // functions do not compare
			}
			read := false
			for _, form := range []string{"nll", "reg2", "log1p"} { // others read vmf_lambda2 and vmf_lambda_log1p
				s.Set("vmf_form", form)
				for _, hold := range []string{"penalty", "retraction"} { // another reads retract_every
					s.Set("spectrum_hold", hold)
					for _, value := range append(slices.Clone(k.Choices), "true", "false", "0.7", "3") {
						other := s
						read = read || schema().Set(&other, k.Name, value) == nil && differ(s, other)
					}
				}
			}
			if !read {
				t.Errorf("%s: no value of %s changes its pieces", m.Name, k.Name)
			}
		}
	}
}

// TestFiles: a method has the files of its own settings, and no others.
func TestFiles(t *testing.T) {
	for method, want := range map[string]string{"vmf": "map[objective.vectors:words.vec]", "mle": "map[]",
		"spectrum+adversarial": "map[]"} {
		s := Defaults()
		if s.Method = method; len(s.Files()) > 0 {
			t.Errorf("%s has files that nobody gave: %v", method, s.Files())
		}
		s.Set("vectors", "words.vec")
		if got := fmt.Sprint(s.Files()); got != want {
			t.Errorf("%s has the files %s, want %s", method, got, want)
		}
	}
}
