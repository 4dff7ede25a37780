package parallel

import (
	"encoding/binary"
	"math"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// Sync joins what processes make of each update. A nil *Sync, of a single process, has nothing to join.
type Sync struct {
	peers     *Peers
	draws     Draws
	buckets   *torch.Buckets
	rehearse  func()
	rehearsed bool // in this epoch: noise may end with an epoch, and draws with it
}

// NewSync is for parameters with weights, those of rank 0 from now on, and for the streams that a batch draws from; rehearse takes
// a batch of the coming update's kind through the network and the output layer.
func NewSync(p *Peers, params []torch.Tensor, streams map[string]*torch.Stream, rehearse func()) (*Sync, error) {
	if p == nil {
		return nil, nil
	}
	if err := p.Broadcast(params...); err != nil {
		return nil, err
	}
	return &Sync{peers: p, draws: Draws{Streams: streams}, buckets: p.group.NewBuckets(params), rehearse: rehearse}, nil
}

// Batch comes before batch i of those of an update that fall to this process.
func (s *Sync) Batch(u models.Update, i int) {
	if s == nil {
		return
	}
	if i == 0 {
		s.begin()
	}
	s.draws.Batch(u.Places[i])
	if i == len(u.Batches)-1 {
		s.buckets.Arm()
	}
}

func (s *Sync) begin() {
	if !s.rehearsed {
		s.draws.Rehearse(s.rehearse)
		s.rehearsed = true
	}
	s.draws.Begin()
}

// Finish sums the gradients of an update whose batches are done everywhere, and gives the numbers of each process, in the order
// of ranks.
func (s *Sync) Finish(u models.Update, numbers ...float64) ([][]float64, error) {
	if s == nil {
		return [][]float64{numbers}, nil
	}
	if len(u.Batches) == 0 {
		s.draws.Rehearse(s.rehearse) // which also leaves numbers of this update: none
	}
	s.draws.Batch(u.All)
	s.rehearsed = u.Position.Batch > 0
	if err := s.peers.explain(s.buckets.Finish()); err != nil {
		return nil, err
	}
	return s.peers.Numbers(numbers...)
}

// Free frees the buckets.
func (s *Sync) Free() {
	if s != nil {
		s.buckets.Free()
	}
}

// Numbers gives everyone the numbers of each.
func (p *Peers) Numbers(numbers ...float64) ([][]float64, error) {
	if p == nil {
		return [][]float64{numbers}, nil
	}
	data, err := binary.Append(nil, binary.LittleEndian, numbers)
	if err != nil {
		return nil, err
	}
	parts, err := p.Gather(data)
	if err != nil {
		return nil, err
	}
	all := make([][]float64, len(parts))
	for r, part := range parts {
		for ; len(part) >= 8; part = part[8:] {
			all[r] = append(all[r], math.Float64frombits(binary.LittleEndian.Uint64(part)))
		}
	}
	return all, nil
}
