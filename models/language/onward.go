package language

import (
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// onward reads one text on, part by part, at the cost of the new tokens alone.
type onward struct {
	model   *Model
	carried models.Carried

	// Of a network that reads each chunk by itself: what it has read, as tokens and as keys and values.
	seen  []int64
	cache *models.TextCache
}

func (m *Model) onward() *onward { return &onward{model: m} }

// read gives the hidden states [N,D] of the next tokens, or of the last of them. Where a network has no room for all
// that it has read, train.bptt tokens, it forgets the first half and reads the second anew.
func (r *onward) read(next []int32) (hidden_ND torch.Tensor) {
	ids := make([]int64, len(next))
	for i, id := range next {
		ids[i] = int64(id)
	}
	network, whole := r.model.Network.(models.TextReader)
	if !whole {
		states, after := r.model.Network.Forward(models.Chunk{IDs: ids, Time: len(ids), Columns: 1}, r.carried, nil)
		after.Keep()
		r.carried.Free()
		r.carried = after
		return states.Hidden
	}
	r.seen = append(r.seen, ids...)
	if room := r.model.Settings.Train.BPTT; len(r.seen) > room {
		r.seen = append([]int64{}, r.seen[len(r.seen)-max(1, room/2):]...)
		ids = r.seen
		r.free()
	}
	if r.cache == nil {
		r.cache = network.NewTextCache(1)
	}
	return network.Read(models.Chunk{IDs: ids, Time: len(ids), Columns: 1}, r.cache).Hidden
}

// free frees what is held of the text.
func (r *onward) free() {
	r.carried.Free()
	if r.cache != nil {
		r.cache.Free()
		r.cache = nil
	}
}
