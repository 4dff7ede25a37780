package parallel

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// Sync joins what processes make of each update. A nil *Sync, of a single process, has nothing to join.
type Sync struct {
	peers     *Peers
	draws     Draws
	buckets   *torch.Buckets
	rehearse  func()
	late      bool // no sum begins before the last gradient
	rehearsed bool // in this epoch: noise may end with an epoch, and draws with it
}

// NewSync is for parameters with weights, those of rank 0 from now on, and for the streams that a batch draws from;
// rehearse takes a batch of the coming update's kind through the network and the output layer. Gradients are summed
// while the backward pass of a last batch still makes others, unless late says that it comes to a parameter more than
// once.
func NewSync(p *Peers, params []torch.Tensor, streams map[string]*torch.Stream, rehearse func(), late bool) (*Sync, error) {
	if p == nil {
		return nil, nil
	}
	if err := p.group.UseDevice(params[0].Device()); err != nil {
		return nil, err
	}
	if err := p.Broadcast(params...); err != nil {
		return nil, err
	}
	return &Sync{peers: p, draws: Draws{Streams: streams}, buckets: p.group.NewBuckets(params), rehearse: rehearse,
		late: late}, nil
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
	if i == len(u.Batches)-1 && !s.late {
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

// NotFinite says that a number of a process is infinite or none.
type NotFinite struct{ Process string }

func (e *NotFinite) Error() string { return e.Process + " has a number that is not finite" }

// Finish sums the gradients of an update whose batches are done everywhere, and gives the sums of numbers of all
// processes, and the first mark that is not 0. Where the first number of a process is not finite the error is a
// *NotFinite.
func (s *Sync) Finish(u models.Update, mark int, numbers ...float64) (sums []float64, marked int, err error) {
	if s == nil {
		return numbers, mark, nil
	}
	if len(u.Batches) == 0 {
		s.draws.Rehearse(s.rehearse) // which also leaves numbers of this update: none
	}
	s.draws.Batch(u.All)
	s.rehearsed = u.Position.Batch > 0
	if err := s.peers.explain(s.buckets.Finish()); err != nil {
		return nil, 0, err
	}
	all, err := s.peers.Numbers(append(numbers, float64(mark))...)
	sums = make([]float64, len(numbers))
	for rank, theirs := range all {
		if math.IsNaN(theirs[0]) || math.IsInf(theirs[0], 0) {
			return nil, 0, &NotFinite{s.peers.names[rank]}
		}
		for i := range sums {
			sums[i] += theirs[i]
		}
		if marked == 0 {
			marked = int(theirs[len(sums)])
		}
	}
	return sums, marked, err
}

// Report is what the sums of gradients have cost this process so far, by name: bytes that were summed, seconds for
// which sums were under way, and seconds of those that it had to wait for. There is nothing to report of a process
// by itself.
func (s *Sync) Report() map[string]float64 {
	if s == nil {
		return nil
	}
	bytes, busy, waited := s.buckets.Report()
	return map[string]float64{"sum_bytes": float64(bytes), "sum_seconds": busy.Seconds(),
		"sum_wait_seconds": waited.Seconds()}
}

// Free frees the buckets.
func (s *Sync) Free() {
	if s != nil {
		s.buckets.Free()
	}
}

// SameWeights is an error where the weights of a process have come apart from those of rank 0, as they would on
// machines that round otherwise: it names the first that has others.
func (p *Peers) SameWeights(weights []torch.Tensor) error {
	if p == nil {
		return nil
	}
	scope := torch.OpenScope()
	defer scope.Close()
	sums := make([]float64, len(weights))
	for i, w := range weights {
		sums[i] = w.Detach().Sum().Item()
	}
	all, err := p.Numbers(sums...)
	if err != nil {
		return err
	}
	for r, theirs := range all {
		if !slices.Equal(theirs, all[0]) {
			return refused("the weights of %s are no longer those of rank 0: use machines with the same processors, "+
				"or APERTURE_ISA=avx2 on all", p.names[r])
		}
	}
	return nil
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
