package main

import (
	"context"
	"slices"
	"time"

	"github.com/aperture-ml/aperture/torch"
)

// contender does a row's pieces of work.
type contender interface {
	// step does piece i and returns the seconds it took.
	step(i int) (float64, error)
	// memory does piece i and returns the peak in bytes above the level before.
	memory(i int) (float64, error)
}

// race is a row made ready: two sides that do the same pieces.
type race struct {
	ours, peer contender
	pieces     int                                       // how many different ones there are
	warm       int                                       // pieces that each side does first, unmeasured
	amount     func(i int) float64                       // work in piece i, for figures in work per second; nil for seconds
	operations func(i int) float64                       // floating point operations of piece i's products; nil where they are not counted
	measured   bool                                      // whether memory is compared
	config     string                                    // sizes of the work, for the reader; may be empty
	outside    func() (float64, error)                   // the share of our time that no matrix product takes; may be nil
	check      func() error                              // after the warm-up: whether both did the same; may be nil
	alone      func(ctx context.Context) (result, error) // measures our side by itself, in place of all the above
	closers    []func()
}

// onClose has f called when the race is over; the last one first.
func (r *race) onClose(f func()) { r.closers = append(r.closers, f) }

func (r *race) close() {
	for _, f := range slices.Backward(r.closers) {
		f()
	}
	r.closers = nil
}

// run measures pairs of pieces, ours first in each, then memory.
func (r *race) run(ctx context.Context, pairs int) (result, error) {
	if r.alone != nil {
		return r.alone(ctx)
	}
	for i := range r.warm {
		if _, _, err := r.pair(ctx, i); err != nil {
			return result{}, err
		}
	}
	if r.check != nil {
		if err := r.check(); err != nil {
			return result{}, err
		}
	}
	var ours, peer, ratios, rates []float64
	for i := range pairs {
		a, b, err := r.pair(ctx, i)
		if err != nil {
			return result{}, err
		}
		ratios = append(ratios, b/a)
		ours, peer = append(ours, r.figure(i, a)), append(peer, r.figure(i, b))
		if r.operations != nil {
			rates = append(rates, r.operations(i%r.pieces)/a/1e9)
		}
	}
	out := result{TimeRatio: spreadOf(ratios), Ours: median(ours), Peer: defined(median(peer)), Config: r.config}
	if len(rates) > 0 {
		out.Rate = defined(median(rates))
	}
	if r.outside != nil {
		share, err := r.outside()
		if err != nil {
			return result{}, err
		}
		out.OutsideProducts = &share
	}
	if !r.measured {
		return out, nil
	}
	a, err := r.ours.memory(0)
	if err != nil {
		return result{}, err
	}
	b, err := r.peer.memory(0)
	if err != nil {
		return result{}, err
	}
	if ratio := a / b; b > 0 {
		out.MemoryRatio = &ratio
	}
	return out, nil
}

// pair lets both sides do piece i and returns their seconds.
func (r *race) pair(ctx context.Context, i int) (ours, peer float64, err error) {
	i %= r.pieces
	if ours, err = r.ours.step(i); err == nil && ctx.Err() == nil {
		peer, err = r.peer.step(i)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return ours, peer, err
}

// figure turns seconds for piece i into the row's unit.
func (r *race) figure(i int, seconds float64) float64 {
	if r.amount == nil {
		return seconds
	}
	return r.amount(i%r.pieces) / seconds
}

// here is a contender in this process.
type here struct {
	prepare func() // comes before each piece, not counted; may be nil
	work    func(i int) error
}

func (h here) step(i int) (float64, error) {
	if h.prepare != nil {
		h.prepare()
	}
	start := time.Now()
	err := h.work(i)
	return time.Since(start).Seconds(), err
}

// outside does piece i and returns the share of its time that went into anything but
// matrix products.
func (h here) outside(i int) (share float64, err error) {
	var seconds float64
	products := torch.InProducts(func() { seconds, err = h.step(i) })
	return 1 - products/seconds, err
}

func (h here) memory(i int) (float64, error) {
	if h.prepare != nil {
		h.prepare()
	}
	torch.ResetPeakBytes()
	before := torch.LiveBytes()
	err := h.work(i)
	return float64(torch.PeakBytes() - before), err
}
