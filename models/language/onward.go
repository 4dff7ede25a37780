package language

import (
	"slices"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// onward reads one text on, part by part, at the cost of the new tokens alone.
type onward struct {
	model   *Model
	carried models.Carried
	// far lets a Transformer-XL remember train.bptt steps at least: words that come one by one are chunks of their own,
	// and would see its memory alone, where in training a word also sees its chunk.
	far bool

	// Of a network that reads each chunk by itself: what it has read, as tokens and as keys and values.
	seen  []int32
	cache *models.TextCache
}

func (m *Model) onward() *onward { return &onward{model: m} }

// read gives the hidden states [N,D] of the next tokens, or of the last of them. A network whose view depends on the
// chunks of a text reads those of training. Where a network that reads each chunk by itself has no room for all that it
// has read, train.bptt tokens, it forgets the first half and reads the second anew.
func (r *onward) read(next []int32) (hidden_ND torch.Tensor) {
	network, whole := r.model.Network.(models.TextReader)
	if !whole {
		rows := len(next)
		if r.model.kind.seesChunks {
			rows = min(rows, r.model.Settings.Train.BPTT)
		}
		var parts []torch.Tensor
		for from := 0; from < len(next); from += rows {
			part := next[from:min(from+rows, len(next))]
			parts = append(parts, torch.Scoped(func() torch.Tensor { return r.chunk(part, from+rows >= len(next)) }))
		}
		if len(parts) == 1 {
			return parts[0]
		}
		return torch.Cat(parts, 0)
	}
	unread := next
	if room := r.model.Settings.Train.BPTT; len(r.seen)+len(next) > room {
		r.seen = append(r.seen, next...)
		unread = append([]int32{}, r.seen[len(r.seen)-max(1, room/2):]...)
		r.free()
	}
	if r.cache == nil {
		r.cache = network.NewTextCache(1)
	}
	r.seen = append(r.seen, unread...)
	hidden_ND = network.Read(column(unread), r.cache).Hidden
	fresh := min(int64(len(next)), hidden_ND.Size(0))
	return hidden_ND.Narrow(0, hidden_ND.Size(0)-fresh, fresh)
}

// chunk reads a chunk of a network that carries a state, and last says that none follows of what is to be read.
func (r *onward) chunk(ids []int32, last bool) (hidden_ND torch.Tensor) {
	m := r.model
	own := m.Settings.Model.XLContext
	if network, ok := m.Network.(ContextNetwork); ok && r.far && last && !own.SameLength {
		longer := own
		longer.Memory = max(own.Memory, m.Settings.Train.BPTT)
		network.SetContext(longer) // no error: its own has none, and more memory adds none
		defer network.SetContext(own)
	}
	states, after := m.Network.Forward(column(ids), r.carried, nil)
	after.Keep()
	r.carried.Free()
	r.carried = after
	return states.Hidden
}

// after gives the hidden states [K,D] behind the text with each of K words, which are not read on.
func (r *onward) after(words []int32) (hidden_KD torch.Tensor) {
	x := column(words)
	x.Time, x.Columns = 1, len(words)
	network, whole := r.model.Network.(models.TextReader)
	if !whole {
		states, _ := r.model.Network.Forward(x, r.carried.Repeated(len(words)), nil)
		return states.Hidden
	}
	if room := r.model.Settings.Train.BPTT; len(r.seen) >= room { // as read would forget for the next word
		kept := slices.Clone(r.seen[len(r.seen)-(max(1, room/2)-1):])
		r.free()
		if len(kept) == 0 {
			cache := network.NewTextCache(len(words))
			defer cache.Free()
			return network.Read(x, cache).Hidden
		}
		r.read(kept)
	}
	cache := r.cache.Repeated(len(words))
	defer cache.Free()
	return network.Read(x, cache).Hidden
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
func (r *onward) free() {
	r.carried.Free()
	r.seen = nil
	if r.cache != nil {
		r.cache.Free()
		r.cache = nil
	}
}
