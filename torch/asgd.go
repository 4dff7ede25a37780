package torch

// ASGD is averaged stochastic gradient descent (Polyak and Juditsky 1992) as PyTorch's torch.optim.ASGD computes it
// with lambd = 0 and t0 = 0: a step of gradient descent, and the mean of all weights after the first step.
//
// PyTorch's optimizer takes each step with the rate that was in force at the step before, the first with its own. Where
// the rate follows the length of each chunk, as in AWD-LSTM, a gradient is so scaled by the length of another chunk;
// Lag says whether to do that too.
type ASGD struct {
	WeightDecay float64
	Lag         bool
	Steps       int64   // done
	Rate        float64 // that was in force at the last step

	params, averages []Tensor
}

// NewASGD starts with no average; the first step gives it one.
func NewASGD(params []Tensor, decay float64, lag bool) *ASGD {
	return &ASGD{WeightDecay: decay, Lag: lag, params: params}
}

// Step moves the parameters that have a gradient.
func (a *ASGD) Step(rate float64) {
	used := rate
	if a.Lag && a.Steps > 0 {
		used = a.Rate
	}
	SGD(a.params, used, a.WeightDecay)
	a.Rate = rate
	a.Steps++
}

// Average takes the weights into the average, once after each step: the first and
// the second step replace it, step k moves it by 1/(k-1).
func (a *ASGD) Average() {
	if a.Averages() == nil {
		a.Restore(a.params)
		return
	}
	Lerp(a.averages, a.params, 1/float64(max(1, a.Steps-1)))
}

// Averages are the averaged weights in the order of the parameters, nil before the first step.
func (a *ASGD) Averages() []Tensor { return a.averages }

// Restore sets the average.
func (a *ASGD) Restore(averages []Tensor) {
	Free(a.averages...)
	a.averages = nil
	for _, x := range averages {
		copied := x.Detach().Clone()
		Keep(copied)
		a.averages = append(a.averages, copied)
	}
}

// Free frees the average.
func (a *ASGD) Free() { Free(a.averages...) }
