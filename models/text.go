package models

import "github.com/aperture-ml/aperture/torch"

// Legend: T time steps, B columns, N = T B rows, D width.

// Chunk is a piece of running text in columns: ids [Time, Columns], time-major.
// Each column goes on where it stopped in the chunk before.
type Chunk struct {
	IDs           []int64
	Time, Columns int
}

// tensor has the ids on the host, where looking them up checks them.
func (c Chunk) tensor() torch.Tensor {
	return torch.FromInt64s(c.IDs, torch.CPU, int64(c.Time), int64(c.Columns))
}

// chunkStates are the states of a chunk: row n stands at time n / B in column n % B.
func chunkStates(hidden_ND, raw_ND torch.Tensor, columns int64) torch.States {
	n := hidden_ND.Size(0)
	states := torch.States{Hidden: hidden_ND, Raw: raw_ND, Columns: columns, Time: make([]int64, n),
		Column: make([]int64, n)}
	for i := range n {
		states.Time[i], states.Column[i] = i/columns, i%columns
	}
	return states
}

// Carried is what a model hands from one chunk to the next, without history: one column in it for each column of text.
// Columns are the last dimension but one. The tensors belong to the scope that made them until Keep; a checkpoint holds
// them in their order.
type Carried []torch.Tensor

// Keep takes the tensors out of their scopes: they live until Free.
func (c Carried) Keep() { torch.Keep(c...) }

// Free frees tensors that were kept.
func (c Carried) Free() { torch.Free(c...) }

// Repeated is what one column carries for n columns.
func (c Carried) Repeated(n int) (all Carried) {
	for _, x := range c {
		shape := x.Shape()
		shape[len(shape)-2] = int64(n)
		all = append(all, x.Expand(shape...).Contiguous())
	}
	return all
}

// at is tensor i, the zero Tensor at the beginning of a text.
func (c Carried) at(i int) torch.Tensor {
	if c == nil {
		return torch.Tensor{}
	}
	return c[i]
}
