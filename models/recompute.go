package models

import "github.com/aperture-ml/aperture/torch"

// Recomputer is a network whose layers can be computed once more in the backward pass.
type Recomputer interface {
	// SetRecompute has training keep, of each layer, the result alone. The backward pass of a loss is that of
	// torch.States then: Tensor.Backward ends before the layers.
	SetRecompute(on bool)
}

// recomputing is a part of such a network.
type recomputing struct{ on bool }

func (r *recomputing) SetRecompute(on bool) { r.on = on }

// recomputation is that of a batch whose dropout draws from a stream; nil is evaluation.
func (r *recomputing) recomputation(s *torch.Stream) *torch.Recomputation {
	if !r.on || s == nil {
		return nil
	}
	return &torch.Recomputation{}
}

// trained are the operations of layers in training.
func (r *recomputing) trained(layers torch.Operations) torch.Operations {
	if r.on {
		return layers.Recomputed()
	}
	return layers
}
