package parallel

import (
	"time"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Speed is what each of several processes computes and sends with.
type Speed struct {
	Operations float64 // floating point operations a second that training reaches
	Bytes      float64 // that it sends a second to others
	Memory     float64 // bytes that it reads and writes a second; 0 does not count them
}

// Prediction is what an update is expected to take.
type Prediction struct {
	Operations float64 // of all processes
	Targets    int
	SumBytes   int64   // of gradients that each process puts into sums
	Arithmetic float64 // seconds of the process that has most to do
	Sums       float64 // seconds
	Hidden     float64 // of these, those behind the backward pass of the last batch
	State      float64 // seconds in which the optimizer and what comes with it pass over weights and state
}

// Seconds are those of the update.
func (p Prediction) Seconds() float64 { return p.Arithmetic + p.Sums - p.Hidden + p.State }

// Predict says what an update of these batches, in which all processes also make some operations alike, takes a number
// of processes that train these parameters, whose weights and state have the given bytes, each read and written once.
// The batches are dealt out as in training. A ring sends 2 (P-1)/P of the bytes summed from each process; a sum can
// begin when a bucket's gradients are there, and the last bucket, which has the first parameters, the word vectors, is
// there when the backward pass is done. What is no product of matrices counts in the speed: it is one that training
// reaches.
func Predict(batches []models.Batch, alike torch.Operations, params []torch.Tensor, state int64, processes int,
	s Speed) (p Prediction) {
	each, costs := make([]torch.Operations, len(batches)), make([]int, len(batches))
	for i, b := range batches {
		each[i] = b.Operations()
		costs[i] = int(each[i].All())
		p.Operations += each[i].All()
		p.Targets += b.Size()
	}
	p.Operations += alike.All() * float64(processes)
	most, behind := 0.0, 0.0 // of the slowest process, and of its last backward pass
	for _, hand := range (corpus.Share{Size: processes}).Deal(costs) {
		sum := 0.0
		for _, i := range hand {
			sum += each[i].All()
		}
		if sum > most {
			most, behind = sum, each[hand[len(hand)-1]].Backward
		}
	}
	p.Arithmetic = (most + alike.All()) / s.Operations
	if s.Memory > 0 {
		p.State = 2 * float64(state) / s.Memory
	}
	for _, x := range params {
		p.SumBytes += 4 * x.Count()
	}
	if processes == 1 {
		p.SumBytes = 0
		return p
	}
	seconds := func(bytes int64) float64 {
		return 2 * float64(processes-1) / float64(processes) * float64(bytes) / s.Bytes
	}
	p.Sums = seconds(p.SumBytes)
	last := min(p.SumBytes, max(torch.BucketBytes, 4*params[0].Count()))
	p.Hidden = min(seconds(p.SumBytes-last), behind/s.Operations)
	return p
}

// Plus adds up what updates take.
func (p Prediction) Plus(q Prediction) Prediction {
	return Prediction{p.Operations + q.Operations, p.Targets + q.Targets, p.SumBytes + q.SumBytes, p.Arithmetic +
		q.Arithmetic, p.Sums + q.Sums, p.Hidden + q.Hidden, p.State + q.State}
}

// Duration is a number of seconds, to three digits or so.
func Duration(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	for _, unit := range []time.Duration{time.Minute, time.Second, 100 * time.Millisecond, time.Millisecond,
		10 * time.Microsecond} {
		if d >= 200*unit {
			return d.Round(unit)
		}
	}
	return d
}
