package models

import (
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Update is what one optimizer step works on.
type Update struct {
	Batches   []Batch         // those that fall to this process
	Places    []int           // where they stand among all batches
	All       int             // how many all are
	Tokens    int             // target tokens of all batches
	Sentences int             // sentences, or columns, of all batches
	Rate      float64         // factor on the learning rate
	Position  corpus.Position // in the data, after it
}

// Batch is a piece of an update that goes through the network at once.
type Batch interface {
	// Forward runs the network, once: states as the output layer reads them, with the terms that the network adds to
	// the loss, and targets [N] int64. These lie on the host, where an output layer sees which of them count without
	// waiting for the device.
	Forward(dropout *torch.Stream) (states torch.States, targets torch.Tensor)
	// Size is the number of targets.
	Size() int
	// Places is the number of places of sources and targets, padding included.
	Places() int
	// Operations are those of Forward and of the output layer's loss.
	Operations() torch.Operations
}
