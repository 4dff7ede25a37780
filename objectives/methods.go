package objectives

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/torch"
)

// Settings are the keys of the section objective: they name a method and hold the constants of all methods, each in the
// file of its method. A method reads its own.
type Settings struct {
	Method string `toml:"method" default:"mle" help:"the method, or several joined by a plus; -method=help prints them"`

	SoftmaxSettings
	ContinuousSettings
	CosineSettings
	AdversarialSettings
	ZLossSettings
	MixtureSettings
	AdaptiveSettings
	SpectrumSettings
	NormalisationSettings
}

var schema = keys.New[Settings]("objective")

// Defaults are the settings of maximum likelihood, with the constants of the other methods as they train well under Adam.
func Defaults() Settings { return schema.Defaults() }

// check says which setting makes no sense, and what would.
func (s Settings) check() error {
	if err := schema.Check(&s); err != nil {
		return err
	}
	_, err := cutoffs(s.AdaptiveCutoffs, math.MaxInt64)
	return err
}

// Method is a point in the product of pieces. A nil piece is one that a name does
// not speak of: joined with others it takes theirs, alone the dense embedding,
// the softmax and no perturbation.
type Method struct {
	Embedding    Embedding
	Likelihood   Likelihood
	Perturbation Perturbation
	Terms        []LossTerm
	Regularizers []Regularizer
}

// TargetVectors reports whether the method aims at given vectors of whole words instead of scoring a vocabulary.
func (m Method) TargetVectors() bool {
	_, ok := m.Embedding.(TargetTable)
	return ok
}

// FrequentFirst reports whether the method wants a vocabulary that has frequent words first.
func (m Method) FrequentFirst() bool {
	l, ok := m.Likelihood.(FrequencyOrdered)
	return ok && l.FrequentFirst()
}

// names lists the methods in the order of Table.
var names = []string{"mle", "cosreg", "adversarial", "zloss", "spectrum", "spectrum-poly", "sn", "sn-doptimal", "mos", "adaptive", "vmf", "l2", "cosine", "maxmargin", "powerspherical"}

// method turns one name into its pieces, for training by SGD where sgd says so; ok is false where there
// is no such name.
func (s Settings) method(name string, sgd bool) (m Method, ok bool) {
	switch name {
	case "mle":
		return Method{
			Embedding:  &Dense{},
			Likelihood: &Softmax{Bias: s.Bias},
		}, true
	case "cosreg":
		m := Method{}
		if s.Gamma > 0 {
			m.Regularizers = []Regularizer{&Cosine{Gamma: s.Gamma}}
		}
		return m, true
	case "adversarial":
		return Method{
			Perturbation: &Adversarial{Alpha: s.Alpha, Mode: adversarialModes[s.AdversarialMode], Fixed: s.AdversarialRadius == "fixed", Gate: s.AdversarialGate},
		}, true
	case "zloss":
		return Method{Terms: []LossTerm{ZLoss(s.Zeta)}}, true
	case "mos":
		return Method{
			Likelihood: &Mixture{Components: s.MixtureComponents, Dropout: s.MixtureDropout, Bias: s.Bias},
		}, true
	case "adaptive":
		return Method{
			Likelihood: &Adaptive{Cutoffs: s.AdaptiveCutoffs, Divisor: s.AdaptiveDivisor, Bias: s.Bias},
		}, true
	case "spectrum":
		return s.spectrum(s.Prior, sgd), true
	case "spectrum-poly":
		return s.spectrum("polynomial", sgd), true
	case "sn":
		return s.spectralNormalisation(sgd), true
	case "sn-doptimal":
		m := s.spectralNormalisation(sgd)
		m.Regularizers = append(m.Regularizers, &DOptimal{Weight: s.LambdaDOptimal})
		return m, true
	case "vmf":
		return s.continuous(vmfForms[s.VMFForm]), true
	case "l2":
		return s.continuous(l2Forms[s.L2Form]), true
	case "cosine":
		return s.continuous(torch.Cosine), true
	case "maxmargin":
		return s.continuous(torch.MaxMargin), true
	case "powerspherical":
		return s.continuous(torch.PowerSpherical), true
	}
	return Method{}, false
}

// continuous aims at frozen target vectors with a loss of that kind.
func (s Settings) continuous(kind torch.Continuous) Method {
	l := &Continuous{Kind: kind, Lambda1: s.VMFLambda1, Lambda2: s.VMFLambda2, Norm: s.MapNorm && kind <= torch.PowerSpherical}
	switch kind {
	case torch.VMFLog1p:
		l.Lambda1 = s.VMFLambdaLog1p
	case torch.MaxMargin:
		l.Lambda1 = s.Margin
	}
	return Method{Embedding: &Frozen{}, Likelihood: l}
}

// split gives the names that a method joins by a plus.
func split(method string) []string { return strings.Split(method, "+") }

// Simplified are the settings of a layer that scores as that of s does, and trains as simply as it can: without smoothing,
// perturbation and further terms of the loss, and with W as one parameter instead of factors. [Output.Simplify] gives its
// weights.
func (s Settings) Simplified() Settings {
	left := slices.DeleteFunc(split(s.Method), func(name string) bool {
		m, known := s.method(name, false)
		_, factored := m.Embedding.(Simplifier)
		return known && !transforms(m.Terms) && (m.Perturbation != nil || len(m.Terms) > 0 || factored)
	})
	if s.Method, s.LabelSmoothing = strings.Join(left, "+"), 0; len(left) == 0 {
		s.Method = "mle"
	}
	return s
}

// Resolve turns the method's name into pieces. An unknown name, or names that do
// not join, give an error that says what would.
func (s Settings) Resolve() (Method, error) { return s.resolve(false) }

func (s Settings) resolve(sgd bool) (Method, error) {
	if err := s.check(); err != nil {
		return Method{}, err
	}
	var joined join
	for _, name := range split(s.Method) {
		m, known := s.method(name, sgd)
		if !known {
			return Method{}, &UnknownMethod{name}
		}
		if err := joined.add(name, m); err != nil {
			return Method{}, err
		}
	}
	return joined.complete(s)
}

// join collects the pieces of several names, and which name each came from.
type join struct {
	Method
	names                               []string
	embedding, likelihood, perturbation string
	regularizer, term                   string // one that comes without an embedding; one with a term of the loss
}

func (j *join) add(name string, m Method) error {
	refuse := func(other, why string) error {
		return fmt.Errorf("%s and %s do not join: %s; leave one of them out", other, name, why)
	}
	switch {
	case slices.Contains(j.names, name):
		return fmt.Errorf("the method names %s twice; once is enough", name)
	case j.Embedding != nil && m.Embedding != nil:
		return refuse(j.embedding, "each says how the output matrix is parameterised, and there is one output matrix")
	case j.Likelihood != nil && m.Likelihood != nil:
		return refuse(j.likelihood, "each says how a hidden state is scored against its target, and there is one score")
	case j.Perturbation != nil && m.Perturbation != nil:
		return refuse(j.perturbation, "each perturbs the target's score in training")
	}
	j.names = append(j.names, name)
	if m.Embedding != nil {
		j.Embedding, j.embedding = m.Embedding, name
	}
	if m.Likelihood != nil {
		j.Likelihood, j.likelihood = m.Likelihood, name
	}
	if m.Perturbation != nil {
		j.Perturbation, j.perturbation = m.Perturbation, name
	}
	if m.Embedding == nil && len(m.Regularizers) > 0 {
		j.regularizer = name
	}
	if len(m.Terms) > 0 {
		j.term = name
	}
	j.Terms = append(j.Terms, m.Terms...)
	j.Regularizers = append(j.Regularizers, m.Regularizers...)
	return nil
}

// complete fills in what no name spoke of.
func (j *join) complete(s Settings) (Method, error) {
	if j.Embedding == nil {
		j.Embedding = &Dense{}
	}
	if j.Likelihood == nil {
		j.Likelihood, j.likelihood = &Softmax{Bias: s.Bias}, "mle"
	}
	if j.TargetVectors() && j.regularizer != "" {
		return Method{}, fmt.Errorf("%s and %s do not join: %s shapes the trained output matrix, and the target vectors of %s are frozen; leave one of them out",
			j.embedding, j.regularizer, j.regularizer, j.embedding)
	}
	l, ok := j.Likelihood.(SoftmaxLikelihood)
	switch {
	case !ok && j.Perturbation != nil:
		return Method{}, fmt.Errorf("%s and %s do not join: %s lowers the target's score before a softmax, and %s has no softmax; leave one of them out",
			j.likelihood, j.perturbation, j.perturbation, j.likelihood)
	case !ok && j.term != "":
		return Method{}, fmt.Errorf("%s and %s do not join: %s is a term of a softmax's loss, and %s has no softmax; leave one of them out",
			j.likelihood, j.term, j.term, j.likelihood)
	case ok:
		j.Terms = append(j.Terms, LabelSmoothing{Kind: smoothings[s.Smoothing], Epsilon: s.LabelSmoothing, Shifted: s.AdversarialSmoothing})
		l.Train(j.Perturbation, j.Terms)
	}
	return j.Method, nil
}

// UnknownMethod is a name that no method has.
type UnknownMethod struct{ Name string }

func (e *UnknownMethod) Error() string {
	return fmt.Sprintf("there is no method %q: the methods are %s, and a plus joins them; did you mean %s?", e.Name, strings.Join(names, ", "), keys.Nearest(e.Name, names))
}

// Row is a line of the table that -method=help prints.
type Row struct {
	Name       string
	Formula    string // what is minimised
	Parameters string // beside those of mle
	Cost       string // beside that of mle
}

// Table describes the methods.
func Table() []Row {
	return []Row{
		{"mle", "-log softmax(W h)[y]", "none", "none"},
		{"cosreg", "mle + gamma / V^2 sum_{i != j} cos(w_i, w_j)", "none", "two passes over W per update; with a factored W three products of V D^2"},
		{"adversarial", "mle with W h - alpha |w_y| |h| as the target's score, in training only", "none", "2 N D per N tokens"},
		{"zloss", "mle + zeta (log Z)^2 per target, Z the softmax's normaliser, in training only", "none", "none"},
		{"spectrum", "mle with W = U diag(s) V^T + lambda |U^T U - I|^2 + lambda |V^T V - I|^2 + lambda |s - c1 exp(-c2 k^gamma)|^2",
			"D^2 + D", "two products of V D^2 per update, 2 N D^2 per N tokens"},
		{"spectrum-poly", "spectrum with the prior c1 k^-gamma", "D^2 + D", "as spectrum"},
		{"sn", "mle with W = U diag(s) V^T + lambda |U^T U - I|^2 + lambda |V^T V - I|^2, s <- s / max |s|", "D^2 + D", "as spectrum"},
		{"sn-doptimal", "sn - rho mean_k log |s_k|", "D^2 + D", "as spectrum"},
		{"mos", "-log sum_k softmax(P h)_k softmax(W tanh(L_k h + l_k))[y]", "K D^2 + 2 K D", "K times the output layer"},
		{"adaptive", "-log softmax(W h over frequent words and clusters)[y or its cluster] - log softmax(W h over the cluster)[y]", "C D + C",
			"about a seventh of the output layer's products in training"},
		{"vmf", "-log C_M(|x|) + lambda1 |x| - lambda2 x.e[y] with x = map(h), e frozen unit vectors of whole words (forms nll, reg1, reg2, both, log1p)",
			"2 D M for the maps, no matrix of V D", "N D M multiplications per N tokens instead of 3 N V D"},
		{"l2", "|x - e[y]|^2, or its root", "as vmf", "as vmf"},
		{"cosine", "1 - cos(x, e[y])", "as vmf", "as vmf"},
		{"maxmargin", "max(0, margin + cos(x, e[j]) - cos(x, e[y])), j nearest to x and farthest from e[y]", "as vmf", "as vmf, and one product of N V M"},
		{"powerspherical", "-log of the power spherical density of e[y] around x", "as vmf", "as vmf"},
	}
}

// Joins lists the methods that a method joins with by a plus, in the order of
// Table. mle is left out: it is what a method does where it says nothing else.
func Joins(name string) []string {
	var others []string
	for _, other := range names {
		if other == "mle" || other == name {
			continue
		}
		s := Defaults()
		s.Method = name + "+" + other
		if _, err := s.Resolve(); err == nil {
			others = append(others, other)
		}
	}
	return others
}
