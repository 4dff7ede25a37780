package objectives

import "github.com/aperture-ml/aperture/torch"

// What each piece multiplies in training. Losses over a vocabulary make the products of their gradients in the forward pass.
//
// Legend: N targets, V vocabulary, D width of W, H of hidden states, K columns that scores are made with.

// Operations are those of Loss and its gradient for these targets, none of them padding.
func (o *Output) Operations(targets []int64) torch.Operations {
	return o.method.Likelihood.Operations(targets)
}

// LookupOperations are those of Lookup for so many rows.
func (o *Output) LookupOperations(rows int64) torch.Operations {
	return o.method.Embedding.LookupOperations(rows)
}

// UpdateOperations are those of an update behind its last batch: of penalties and constraints.
func (o *Output) UpdateOperations() (all torch.Operations) {
	for _, r := range o.method.Regularizers {
		if m, ok := r.(Multiplier); ok {
			all = all.Plus(m.Operations())
		}
	}
	return all
}

// LookupOperations are none: rows are copied.
func (e *Dense) LookupOperations(int64) torch.Operations { return torch.Operations{} }

// LookupOperations are those of the product with V, with which the head maps a hidden state too.
func (e *Factored) LookupOperations(rows int64) torch.Operations {
	return torch.ProductOperations(rows, e.v.Size(1), e.v.Size(0))
}

// LookupOperations are those of the map. The vectors get no gradient.
func (e *Frozen) LookupOperations(rows int64) torch.Operations {
	if !e.weight.Defined() {
		return torch.Operations{}
	}
	all := torch.ProductOperations(rows, e.table.Size(1), e.weight.Size(0))
	all.Backward /= 2
	return all
}

// rowOperations are those of finding the rows of so many targets, where a perturbation is to know them.
func (l *softmaxTraining) rowOperations(e Embedding, targets int64) torch.Operations {
	if l.by == nil {
		return torch.Operations{}
	}
	all := e.LookupOperations(targets)
	if a, ok := l.by.(*Adversarial); ok && a.Mode != AdversarialFull {
		all.Backward = 0
	}
	return all
}

// Operations are 3 N V K multiplications, and those of the head's map.
func (l *Softmax) Operations(targets []int64) torch.Operations {
	n := int64(len(targets))
	scores := torch.ProductOperations(n, l.head.Weight.Size(1), l.head.Weight.Size(0)).AtOnce()
	return scores.Plus(l.head.Row.Times(n), l.rowOperations(l.embedding, n))
}

// Operations are those of a softmax for each component, of the latent states and of the prior.
func (l *Mixture) Operations(targets []int64) torch.Operations {
	n, components, hidden := int64(len(targets)), int64(l.Components), l.prior.Size(1)
	scores := torch.ProductOperations(n*components, l.head.Weight.Size(1), l.head.Weight.Size(0)).AtOnce()
	states := torch.ProductOperations(n, hidden, components*(l.width+1))
	return scores.Plus(states, l.head.Row.Times(n*components), l.rowOperations(l.embedding, n))
}

// Operations are those of the head for all targets, and of each tail for those of its cluster.
func (l *Adaptive) Operations(targets []int64) torch.Operations {
	n := int64(len(targets))
	all := l.head.Row.Times(n).Plus(l.rowOperations(l.embedding, n))
	all = all.Plus(torch.ProductOperations(n, l.head.Weight.Size(1), l.sizes[0]+int64(len(l.tails))).AtOnce())
	for i, t := range l.tails {
		own := int64(0)
		for _, id := range targets {
			if id >= t.low && id < t.high {
				own++
			}
		}
		width := l.head.Weight.Size(1)
		if t.rows.Defined() {
			width = t.rows.Size(1)
			all = all.Plus(torch.ProductOperations(n, t.projection.Size(1), width))
		}
		all = all.Plus(torch.ProductOperations(own, width, l.sizes[i+1]).AtOnce())
	}
	return all
}

// Operations are those of the map; max-margin compares with all vectors besides.
func (l *Continuous) Operations(targets []int64) torch.Operations {
	n := int64(len(targets))
	all := torch.ProductOperations(n, l.weight.Size(1), l.values)
	if l.Kind == torch.MaxMargin {
		all.Forward += torch.ProductOperations(n, l.values, l.target.table.Size(0)).Forward
	}
	return all
}

// Operations are, for a factored W alone, the three products with U.
func (r *Cosine) Operations() torch.Operations {
	if r.factored == nil {
		return torch.Operations{}
	}
	return torch.ProductOperations(r.factored.u.Size(0), r.factored.u.Size(1), r.factored.u.Size(1))
}

// Operations are two products for each side.
func (r *Orthogonality) Operations() (all torch.Operations) {
	for _, side := range r.sides {
		k := side.matrix.Size(1)
		one := torch.ProductOperations(side.matrix.Size(0), k, k).Forward
		all = all.Plus(torch.Operations{Forward: one, Backward: one})
	}
	return all
}

// Operations are two products for gradients, and two more for each retraction, on the mean.
func (r *Retraction) Operations() torch.Operations {
	one := r.e.products()
	return torch.Operations{Forward: 2 * one / float64(r.Every), Backward: 2 * one}
}

// Operations are two products for each step, on the mean.
func (r *ProximalOrthogonality) Operations() torch.Operations {
	return torch.Operations{Forward: 2 * r.e.products() / float64(r.Every)}
}

// products are the operations of one product of U with a matrix [K,K], and one of V.
func (e *Factored) products() float64 {
	k := e.u.Size(1)
	return torch.ProductOperations(e.u.Size(0)+e.v.Size(0), k, k).Forward
}
