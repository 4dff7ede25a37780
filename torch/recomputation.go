package torch

import "slices"

// Recomputation runs pieces of a network without keeping what their backward pass needs, and runs each once more when
// that pass comes to it (activation checkpointing, "Training deep nets with sublinear memory cost", Chen et al. 2016):
// of a piece only its operands and its result are kept in between, and an update takes a second forward pass of the
// pieces. Draws of a stream are the same both times. A nil *Recomputation keeps everything.
type Recomputation struct{ passed []passed }

// passed is a piece; or, without a function, a tensor with a history.
type passed struct {
	f        func(x ...Tensor) Tensor
	stream   *Stream
	offset   uint64 // of the stream before the piece
	autocast bool
	x        []Tensor
	leaf     Tensor // the result, or the tensor, without a history
}

// Leaf is x as pieces read it: without the history, which Backward comes to behind them.
func (r *Recomputation) Leaf(x Tensor) Tensor {
	if r == nil || !x.RequiresGrad() {
		return x
	}
	leaf := x.Detach()
	leaf.SetRequiresGrad(true)
	r.passed = append(r.passed, passed{x: []Tensor{x}, leaf: leaf})
	return leaf
}

// Run gives f(x...), which may draw from a stream; what else f makes is freed, unless the backward pass needs it.
// Operands are results of Leaf or Run; whatever else f reads is a parameter or has no history.
func (r *Recomputation) Run(s *Stream, f func(x ...Tensor) Tensor, x ...Tensor) Tensor {
	if r == nil {
		return Scoped(func() Tensor { return f(x...) })
	}
	p := passed{f: f, stream: s, x: x, autocast: autocasting(x[0].Device())}
	if s != nil {
		p.offset = s.Offset
	}
	// A piece may give an operand back, as dropout of nothing does, whose own gradient is not the result's.
	NoGrad(func() { p.leaf = Scoped(func() Tensor { return f(x...).Detach() }) })
	p.leaf.SetRequiresGrad(true)
	r.passed = append(r.passed, p)
	return p.leaf
}

// Backward goes on from the gradients that the backward pass of the loss has left at the results of pieces. It belongs
// into the scope of the forward pass, once.
func (r *Recomputation) Backward() {
	if r == nil {
		return
	}
	for _, p := range slices.Backward(r.passed) {
		scope := OpenScope()
		if gradient := p.leaf.Grad(); gradient.Defined() {
			p.again().BackwardWith(gradient)
			ZeroGrad([]Tensor{p.leaf})
		}
		scope.Close()
	}
}

// again is the result with its history.
func (p *passed) again() (y Tensor) {
	if p.f == nil {
		return p.x[0]
	}
	if p.stream != nil {
		defer func(now uint64) { p.stream.Offset = now }(p.stream.Offset)
		p.stream.Offset = p.offset
	}
	Autocast(p.autocast, p.leaf.Device(), func() { y = p.f(p.x...) })
	return y
}
