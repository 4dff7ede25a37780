package models

import (
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// Tokens is a batch of sequences: ids [Rows, Width], row-major, padded with tokenize.Pad.
type Tokens struct {
	IDs         []int64
	Rows, Width int
}

// tensor has the ids on the host, where looking them up checks them.
func (t Tokens) tensor() torch.Tensor {
	return torch.FromInt64s(t.IDs, torch.CPU, int64(t.Rows), int64(t.Width))
}

// padded reports whether any row is shorter than the others.
func (t Tokens) padded() bool {
	for _, id := range t.IDs {
		if id == tokenize.Pad {
			return true
		}
	}
	return false
}

// mask is true at real tokens, [Rows, Width].
func (t Tokens) mask() []bool {
	mask := make([]bool, len(t.IDs))
	for i, id := range t.IDs {
		mask[i] = id != tokenize.Pad
	}
	return mask
}

// real lists the flat positions of real tokens.
func (t Tokens) real() []int64 {
	rows := make([]int64, 0, len(t.IDs))
	for i, id := range t.IDs {
		if id != tokenize.Pad {
			rows = append(rows, int64(i))
		}
	}
	return rows
}

// positions numbers the real tokens of each row from tokenize.Pad+1 on; padding, on either side, gets tokenize.Pad.
func (t Tokens) positions() []int64 {
	out := make([]int64, len(t.IDs))
	for r := 0; r < t.Rows; r++ {
		next := int64(tokenize.Pad)
		for c := r * t.Width; c < (r+1)*t.Width; c++ {
			out[c] = tokenize.Pad
			if t.IDs[c] != tokenize.Pad {
				next++
				out[c] = next
			}
		}
	}
	return out
}

// An Embedder looks up vectors [..., D] for ids [...].
type Embedder interface {
	Lookup(ids torch.Tensor) torch.Tensor
	// LookupOperations are those of the given number of rows.
	LookupOperations(rows int64) torch.Operations
}
