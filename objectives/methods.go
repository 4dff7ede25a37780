package objectives

import (
	"fmt"
	"strings"
)

// Method is a point in the product of pieces. A nil piece is one that a name does
// not speak of: joined with others it takes theirs, alone the dense embedding,
// the softmax and no perturbation.
type Method struct {
	Embedding    Embedding
	Likelihood   Likelihood
	Perturbation Perturbation
	Regularizers []Regularizer
}

// names lists the methods in the order of Table.
var names = []string{"mle", "spectrum", "spectrum-poly"}

// method turns one name into its pieces; ok is false where there is no such name.
func (s Settings) method(name string) (m Method, ok bool) {
	switch name {
	case "mle":
		return Method{
			Embedding:  &Dense{},
			Likelihood: s.softmax(),
		}, true
	case "spectrum":
		return s.spectrum(s.Prior), true
	case "spectrum-poly":
		return s.spectrum("polynomial"), true
	}
	return Method{}, false
}

// spectrum is spectrum control with the prior of that kind.
func (s Settings) spectrum(kind string) Method {
	prior := Prior{Scale: s.PriorScale, Rate: s.PriorRate, Power: s.PriorPower, Ratio: s.PriorRatio}
	if kind == "polynomial" {
		prior.Kind = Polynomial
	}
	m := Method{
		Embedding: &Factored{Start: starts[s.SpectrumInit], Prior: prior},
	}
	orthogonality := &Orthogonality{U: s.LambdaU, V: s.LambdaV, USpectral: s.LambdaUSpectral, VSpectral: s.LambdaVSpectral}
	if orthogonality.active() {
		m.Regularizers = append(m.Regularizers, orthogonality)
	}
	if s.Prior != "none" && s.LambdaPrior > 0 {
		m.Regularizers = append(m.Regularizers, &SpectrumPrior{Prior: prior, Weight: s.LambdaPrior})
	}
	return m
}

func (s Settings) softmax() *Softmax {
	return &Softmax{Smoothing: smoothings[s.Smoothing], Epsilon: s.LabelSmoothing, Bias: s.Bias}
}

// Resolve turns the method's name into pieces. An unknown name, or names that do
// not join, give an error that says what would.
func (s Settings) Resolve() (Method, error) {
	if err := s.check(); err != nil {
		return Method{}, err
	}
	var joined Method
	var says struct{ embedding, likelihood, perturbation string } // which name spoke of a piece
	seen := map[string]bool{}
	for _, name := range strings.Split(s.Method, "+") {
		m, known := s.method(name)
		if !known {
			return Method{}, unknownMethod(name)
		}
		if seen[name] {
			return Method{}, fmt.Errorf("the method %s names %s twice", s.Method, name)
		}
		seen[name] = true
		if m.Embedding != nil {
			if joined.Embedding != nil {
				return Method{}, fmt.Errorf("%s and %s do not join: both say how the output matrix is parameterised, and it can be parameterised in one way only", says.embedding, name)
			}
			joined.Embedding, says.embedding = m.Embedding, name
		}
		if m.Likelihood != nil {
			if joined.Likelihood != nil {
				return Method{}, fmt.Errorf("%s and %s do not join: both say how a hidden state is scored against a target, and there is one score", says.likelihood, name)
			}
			joined.Likelihood, says.likelihood = m.Likelihood, name
		}
		if m.Perturbation != nil {
			if joined.Perturbation != nil {
				return Method{}, fmt.Errorf("%s and %s do not join: both perturb the target's score", says.perturbation, name)
			}
			joined.Perturbation, says.perturbation = m.Perturbation, name
		}
		joined.Regularizers = append(joined.Regularizers, m.Regularizers...)
	}
	if joined.Embedding == nil {
		joined.Embedding = &Dense{}
	}
	if joined.Likelihood == nil {
		joined.Likelihood = s.softmax()
	}
	return joined, nil
}

func unknownMethod(name string) error {
	nearest := names[0]
	for _, n := range names {
		if distance(name, n) < distance(name, nearest) {
			nearest = n
		}
	}
	return fmt.Errorf("there is no method %q; did you mean %s? The methods are %s, and a plus joins them", name, nearest, strings.Join(names, ", "))
}

// distance counts the letters to insert, delete or replace between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
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
		{"spectrum", "mle with W = U diag(s) V^T + lambda |U^T U - I|^2 + lambda |V^T V - I|^2 + lambda |s - c1 exp(-c2 k^gamma)|^2",
			"D^2 + D", "two products of V D^2 per update, 2 N D^2 per N tokens"},
		{"spectrum-poly", "spectrum with the prior c1 k^-gamma", "D^2 + D", "as spectrum"},
	}
}
