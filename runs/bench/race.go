package main

import (
	"context"
	"slices"
	"time"

	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/torch"
)

// side does a row's pieces of work.
type side struct {
	step   func(i int) (seconds float64, err error) // does piece i
	memory func(i int) (bytes float64, err error)   // does piece i and returns the peak above the level before
}

// race is a row made ready: two sides that do the same pieces.
type race struct {
	ours, peer side
	pieces     int                    // how many different ones there are
	warm       int                    // pieces that each side does first, unmeasured
	amount     func(i int) float64    // work in piece i, for figures in work per second; nil for seconds
	operations func(i int) float64    // floating point operations of piece i's products; nil where they are not counted
	measured   bool                   // whether memory is compared
	outside    bool                   // whether the share of our time that no matrix product takes is measured
	config     string                 // sizes of the work, for the reader; may be empty
	remark     func() string          // what is added to config once all is measured; may be nil
	check      func() error           // after the warm-up: whether both did the same; may be nil
	alone      func() (figure, error) // measures our side by itself, in place of all the above
	products   torch.DType            // of which the machine's peak is measured
	device     torch.Device           // that both sides compute on; the CPU where it is empty
	closers    []func()
}

// onHost reports whether the processor does the work, as where nothing else is said.
func (r *race) onHost() bool { return r.device == "" || r.device == torch.CPU }

// figure is what a row without a peer shows, with a remark.
type figure struct {
	value  float64
	remark string
}

// onClose has f called when the race is over; the last one first.
func (r *race) onClose(f func()) { r.closers = append(r.closers, f) }

func (r *race) close() {
	for _, f := range slices.Backward(r.closers) {
		f()
	}
	r.closers = nil
}

// inBFloat16 makes the row one of products in bfloat16. Where the processor has no instructions for them it is false,
// and the row says so instead of measuring.
func (r *race) inBFloat16() bool {
	if !r.onHost() || torch.HasBFloat16() {
		r.products = torch.BFloat16
		return true
	}
	r.alone = func() (figure, error) { return figure{0, "not measured: no instructions for bfloat16 here"}, nil }
	return false
}

// run measures pairs of pieces, ours first in each, then memory.
func (r *race) run(ctx context.Context, pairs int) (out result, err error) {
	if r.alone != nil {
		f, err := r.alone()
		return result{Ours: f.value, Config: f.remark}, err
	}
	for i := range r.warm {
		if _, _, err := r.pair(ctx, i); err != nil {
			return out, err
		}
	}
	if r.check != nil {
		if err := r.check(); err != nil {
			return out, err
		}
	}
	var ours, peer, ratios, rates []float64
	for i := range pairs {
		a, b, err := r.pair(ctx, i)
		if err != nil {
			return out, err
		}
		ratios = append(ratios, b/a)
		ours, peer = append(ours, r.figure(i, a)), append(peer, r.figure(i, b))
		if r.operations != nil {
			rates = append(rates, r.operations(i%r.pieces)/a/1e9)
		}
	}
	out = result{TimeRatio: spreadOf(ratios), Ours: measures.Median(ours), Peer: defined(measures.Median(peer)), Config: r.config}
	if r.remark != nil {
		out.Config += ", " + r.remark()
	}
	if rates != nil {
		out.Rate = defined(measures.Median(rates))
	}
	if r.outside && r.onHost() { // elsewhere only the device knows
		var seconds float64
		products := torch.InProducts(func() { seconds, err = r.ours.step(0) })
		if err != nil {
			return out, err
		}
		out.OutsideProducts = defined(1 - products/seconds)
	}
	if !r.measured {
		return out, nil
	}
	a, err := r.ours.memory(0)
	if err != nil {
		return out, err
	}
	b, err := r.peer.memory(0)
	if b > 0 {
		out.MemoryRatio = defined(a / b)
	}
	return out, err
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

// here is a side in this process, whose piece ends when the device has done it. prepare comes before each piece, not
// counted; it may be nil.
func (r *race) here(prepare func(), work func(i int) error) side {
	if prepare == nil {
		prepare = func() {}
	}
	return side{
		step: func(i int) (float64, error) {
			prepare()
			torch.Synchronize(r.device)
			start := time.Now()
			err := work(i)
			torch.Synchronize(r.device)
			return time.Since(start).Seconds(), err
		},
		memory: func(i int) (float64, error) {
			prepare()
			torch.ResetPeakDeviceBytes(r.device)
			before := torch.LiveDeviceBytes(r.device)
			err := work(i)
			return float64(torch.PeakDeviceBytes(r.device) - before), err
		},
	}
}
