package objectives

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/keys"
)

// methods are all methods, in the order in which documents and the keys of the section objective have them. Each is
// defined in a file of its own.
var methods = []Method{
	mle,
	cosreg,
	adversarial,
	spectrum,
	spectrumPoly,
	sn,
	snDOptimal,
	zLoss,
	softcap,
	centre,
	centreLoss,
	focal,
	sigsoftmax,
	unlikelihood,
	simctg,
	istar,
	dispersion,
	agg,
	mos,
	mixtape,
	drill,
	headless,
	adaptive,
	vmf,
	powerSpherical,
	l2,
	cosine,
	maxMargin,
}

// Methods lists the methods.
func Methods() []Method { return slices.Clone(methods) }

// method finds a method by its name.
func method(name string) (m Method, known bool) {
	i := slices.IndexFunc(methods, func(m Method) bool { return m.Name == name })
	if i < 0 {
		return Method{}, false
	}
	return methods[i], true
}

// UnknownMethod is a name that no method has.
type UnknownMethod struct{ Name string }

func (e *UnknownMethod) Error() string {
	if e.Name == "" {
		return "the method lacks a name, or there is a plus without one beside it: mle is the usual softmax"
	}
	var names []string
	for _, m := range methods {
		names = append(names, m.Name)
	}
	return fmt.Sprintf("there is no method %q: the methods are %s, and a plus joins them; did you mean %s?",
		e.Name, strings.Join(names, ", "), keys.Nearest(e.Name, names))
}

// Resolve turns the method's name into pieces. An unknown name, or names that do not join, give an error that says what
// would.
func (s Settings) Resolve() (Pieces, error) { return s.resolve(false) }

// resolve is Resolve for training that moves weights by their gradients times a rate, where sgd says so.
func (s Settings) resolve(sgd bool) (Pieces, error) {
	if err := s.check(); err != nil {
		return Pieces{}, err
	}
	var joined join
	for _, name := range s.names() {
		m, known := method(name)
		if !known {
			return Pieces{}, &UnknownMethod{name}
		}
		p := m.Build(s, sgd)
		p.Needs = m.Needs
		if err := joined.add(name, p); err != nil {
			return Pieces{}, err
		}
	}
	return joined.complete(s)
}

// join collects the pieces of several names, and which name each came from.
type join struct {
	Pieces
	names                               []string
	termNames                           []string // of Terms
	embedding, likelihood, perturbation string
	regularizer, term                   string // one that comes without an embedding; one with a term of the loss
}

func (j *join) add(name string, p Pieces) error {
	refuse := func(other, why string) error {
		return fmt.Errorf("%s and %s do not join: %s; leave one of them out", other, name, why)
	}
	switch {
	case slices.Contains(j.names, name):
		return fmt.Errorf("the method names %s twice; once is enough", name)
	case j.Embedding != nil && p.Embedding != nil:
		return refuse(j.embedding, "each says how the output matrix is parameterised, and there is one output matrix")
	case j.Likelihood != nil && p.Likelihood != nil:
		return refuse(j.likelihood, "each says how a hidden state is scored against its target, and there is one score")
	case j.Perturbation != nil && p.Perturbation != nil:
		return refuse(j.perturbation, "each perturbs the target's score in training")
	}
	j.names = append(j.names, name)
	if p.Embedding != nil {
		j.Embedding, j.embedding = p.Embedding, name
	}
	if p.Likelihood != nil {
		j.Likelihood, j.likelihood = p.Likelihood, name
	}
	if p.Perturbation != nil {
		j.Perturbation, j.perturbation = p.Perturbation, name
	}
	if p.Embedding == nil && len(p.Regularizers) > 0 {
		j.regularizer = name
	}
	if len(p.Terms) > 0 {
		j.term = name
	}
	for _, t := range p.Terms {
		j.Terms, j.termNames = append(j.Terms, t), append(j.termNames, name)
	}
	j.Regularizers = append(j.Regularizers, p.Regularizers...)
	j.States = append(j.States, p.States...)
	j.ClipApart = j.ClipApart || p.ClipApart
	j.WordTargets = j.WordTargets || p.WordTargets
	j.FrequentFirst = j.FrequentFirst || p.FrequentFirst
	return nil
}

// complete fills in what no name spoke of.
func (j *join) complete(s Settings) (Pieces, error) {
	control := mle.Build(s, false)
	if j.Embedding == nil {
		j.Embedding = control.Embedding
	}
	if j.Likelihood == nil {
		j.Likelihood, j.likelihood = control.Likelihood, mle.Name
	}
	if j.WordTargets && j.regularizer != "" {
		return Pieces{}, fmt.Errorf("%s and %s do not join: %s shapes the trained output matrix, "+
			"and the target vectors of %s are frozen; leave one of them out", j.embedding, j.regularizer, j.regularizer,
			j.embedding)
	}
	l, ok := j.Likelihood.(SoftmaxLikelihood)
	switch {
	case !ok && j.Perturbation != nil:
		return Pieces{}, fmt.Errorf("%s and %s do not join: %s lowers the target's score before a softmax, "+
			"and %s has no softmax; leave one of them out", j.likelihood, j.perturbation, j.perturbation, j.likelihood)
	case !ok && j.term != "":
		return Pieces{}, fmt.Errorf("%s and %s do not join: %s is a term of a softmax's loss, and %s has no softmax; "+
			"leave one of them out",
			j.likelihood, j.term, j.term, j.likelihood)
	case ok:
		if l, is := l.(selective); is {
			for i, t := range j.Terms {
				if why := l.refuses(t); why != "" {
					return Pieces{}, fmt.Errorf("%s and %s do not join: %s %s; leave one of them out", j.likelihood,
						j.termNames[i], j.termNames[i], why)
				}
			}
		}
		j.Terms = append(j.Terms, labelSmoothing(s))
		l.training().by, l.training().terms = j.Perturbation, j.Terms
	}
	return j.Pieces, nil
}

// selective is a likelihood of the softmax family that does not take every term of a loss.
type selective interface {
	// refuses says why it does not take a term, in words that follow the term's name, or nothing.
	refuses(t LossTerm) (why string)
}
