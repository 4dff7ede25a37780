package parallel

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// work is a batch of the given number of operations, two thirds of them backwards.
type work float64

func (w work) Forward(*torch.Stream) (torch.States, torch.Tensor) { panic("it is only counted") }
func (w work) Size() int                                          { return 10 }
func (w work) Places() int                                        { return 10 }
func (w work) Operations() torch.Operations {
	return torch.Operations{Forward: float64(w) / 3, Backward: 2 * float64(w) / 3}
}

// Sums of 8 bytes for every 4 at 2 processes, hidden as far as the backward pass of the last batch and the last bucket
// let them.
func TestPredict(t *testing.T) {
	torch.Test(t, func() {
		const million = 1 << 20
		words, rest := torch.Zeros(torch.Float32, torch.CPU, 10*million),
			torch.Zeros(torch.Float32, torch.CPU, 20*million)
		params := []torch.Tensor{words, rest} // 40 MiB, which are a bucket of their own, and 80
		batches := []models.Batch{work(300), work(200), work(150)}
		for _, c := range []struct {
			processes                int
			bytes                    float64 // a second
			arithmetic, sums, hidden float64
		}{
			{1, 1, 660 / 10., 0, 0},                  // all three, and what is made once
			{2, 120 * million, 360 / 10., 1, 2 / 3.}, // 200 and 150 against 300; 80 of 120 MiB are there in time
			{2, million, 360 / 10., 120, 10},         // two thirds of 150 operations take 10 seconds
			{4, 120 * million, 310 / 10., 1.5, 1},    // one has nothing to do
		} {
			p := Predict(batches, torch.Operations{Forward: 10}, params, 8, c.processes,
				Speed{Operations: 10, Bytes: c.bytes, Memory: 4})
			near := func(what string, got, want float64) {
				if math.Abs(got-want) > 1e-9 {
					t.Errorf("%d processes at %v: %s is %v, not %v", c.processes, c.bytes, what, got, want)
				}
			}
			near("arithmetic", p.Arithmetic, c.arithmetic)
			near("sums", p.Sums, c.sums)
			near("hidden", p.Hidden, c.hidden)
			near("the weights' time", p.State, 4)
			near("the update", p.Seconds(), c.arithmetic+c.sums-c.hidden+4)
			near("all", p.Operations, 650+10*float64(c.processes))
			near("targets", float64(p.Targets), 30)
		}
	})
}
