package objectives

import (
	"fmt"
	"strings"

	"github.com/aperture-ml/aperture/torch"
)

// Counted is a piece that says how many operations its products of matrices take in training, by which -plan predicts
// how long an update takes. No piece has to: where one is not counted, -plan says that it cannot know. Losses over a
// vocabulary make the products of their gradients in the forward pass.
type Counted interface{ Operations(w Work) torch.Operations }

// Work is what a piece is counted for. That of a regularizer is one update, the zero Work.
type Work struct {
	Rows   int64 // of W that an embedding looks up
	Scored int64 // hidden states that an embedding's head maps
	// Targets are those that a likelihood scores, a perturbation moves, or whose states a penalty sees; none of them is
	// padding.
	Targets []int64

	embedding any // for the other pieces
}

// Embedding are the operations of the layer's embedding, as far as it is counted.
func (w Work) Embedding(other Work) torch.Operations { return operations(w.embedding, other) }

func operations(piece any, w Work) torch.Operations {
	if c, ok := piece.(Counted); ok {
		return c.Operations(w)
	}
	return torch.Operations{}
}

// negligible is embedded by a piece that makes no products of W's size.
type negligible struct{}

// Operations are none.
func (negligible) Operations(Work) torch.Operations { return torch.Operations{} }

// Operations are those of Loss and its gradient for these targets, none of them padding.
func (o *Output) Operations(targets []int64) torch.Operations {
	w := Work{Targets: targets, embedding: o.method.Embedding}
	all := operations(o.method.Likelihood, w).Plus(operations(o.method.Perturbation, w))
	for _, r := range o.method.States {
		all = all.Plus(operations(r, w))
	}
	return all
}

// LookupOperations are those of Lookup for the given number of rows.
func (o *Output) LookupOperations(rows int64) torch.Operations {
	return operations(o.method.Embedding, Work{Rows: rows})
}

// UpdateOperations are those of an update behind its last batch: of penalties and constraints.
func (o *Output) UpdateOperations() (all torch.Operations) {
	for _, r := range o.method.Regularizers {
		all = all.Plus(operations(r, Work{}))
	}
	return all
}

// Uncounted names the pieces whose operations are not known, which the others then leave out.
func (o *Output) Uncounted() (names []string) {
	for _, piece := range o.method.all() {
		if _, ok := piece.(Counted); !ok {
			names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", piece), "*"))
		}
	}
	return names
}
