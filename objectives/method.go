package objectives

// Method is all there is to know of a name that -method takes. The file of a method defines it, and methods.go lists
// it.
type Method struct {
	Name    string
	Summary string // what it does, in a clause that begins with a verb or says what it is
	Paper   string // where it comes from, as "Gao et al. 2019"; empty for the control

	Formula    string // what is minimised
	Parameters string // beside those of mle
	Cost       string // of a training step, forward and backward, beside that of mle

	// Settings are structs whose tags are the method's keys in the section objective (package keys). Methods may share
	// some.
	Settings []any
	Needs    Needs

	// Build makes the pieces that the name speaks of, for training by SGD where sgd says so.
	Build func(s Settings, sgd bool) Pieces
}

// Needs are what a method wants of the text.
type Needs struct {
	WordTargets   bool // targets are whole words, and [Config] has the vectors that the method aims at
	FrequentFirst bool // frequent words come first in the vocabulary
}

// Pieces are a point in the product of pieces. A nil piece is one that a name does not speak of: joined with others it
// takes theirs, alone the dense embedding, the softmax and no perturbation.
type Pieces struct {
	Embedding    Embedding
	Likelihood   Likelihood
	Perturbation Perturbation
	Terms        []LossTerm
	Regularizers []Regularizer
	States       []StatePenalty
	// the gradient of each parameter of the embedding is clipped by itself, outside the norm of all others
	ClipApart bool

	Needs // of all methods that are joined
}

// all lists the pieces.
func (p Pieces) all() []any {
	all := []any{p.Embedding, p.Likelihood}
	if p.Perturbation != nil {
		all = append(all, p.Perturbation)
	}
	for _, r := range p.Regularizers {
		all = append(all, r)
	}
	for _, r := range p.States {
		all = append(all, r)
	}
	return all
}
