package language

import (
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// onward reads one text on, part by part, at the cost of the new tokens alone.
type onward struct {
	model   *Model
	carried models.Carried
}

func (m *Model) onward() *onward { return &onward{model: m} }

// read gives the hidden states [N,D] of the next tokens.
func (r *onward) read(next []int32) (hidden_ND torch.Tensor) {
	states, after := r.model.Network.Forward(column(next), r.carried, nil)
	after.Keep()
	r.carried.Free()
	r.carried = after
	return states.Hidden
}

// after gives the hidden states [K,D] behind the text with each of K words, which are not read on.
func (r *onward) after(words []int32) (hidden_KD torch.Tensor) {
	x := column(words)
	x.Time, x.Columns = 1, len(words)
	states, _ := r.model.Network.Forward(x, r.carried.Repeated(len(words)), nil)
	return states.Hidden
}

// column is a chunk of one column.
func column(ids []int32) models.Chunk {
	x := models.Chunk{IDs: make([]int64, len(ids)), Time: len(ids), Columns: 1}
	for i, id := range ids {
		x.IDs[i] = int64(id)
	}
	return x
}

// free frees what is held of the text.
func (r *onward) free() { r.carried.Free() }
