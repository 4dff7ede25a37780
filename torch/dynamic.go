package torch

// #include "api.h"
import "C"

// Dynamic moves weights along with the text that they are evaluated on ("Dynamic evaluation of neural sequence models",
// Krause et al. 2018): by the gradient, each element divided by the root mean square of its gradient on the training
// text, and back towards where they started, elements of large gradients faster.
//
//	theta += min(Decay rms / mean, 1) (start - theta) - Rate g / (rms + Epsilon)
//
// mean is the mean over tensors of each one's mean rms: a tensor counts as much as any other, whatever its size.
type Dynamic struct {
	Rate, Decay, Epsilon float64

	params, start, rms []Tensor
	mean               float64
	chunks             int
}

// NewDynamic starts from the parameters as they are, without statistics.
func NewDynamic(params []Tensor) *Dynamic {
	scope := OpenScope()
	defer scope.Close()
	d := &Dynamic{params: params}
	for _, p := range params {
		d.start = append(d.start, p.Detach().Clone())
		d.rms = append(d.rms, Zeros(p.DType(), p.Device(), p.Shape()...))
	}
	Keep(d.start...) // at last: memory may end before
	Keep(d.rms...)
	return d
}

// Collect takes the gradients of a chunk of the training text into the statistics.
func (d *Dynamic) Collect() {
	_, s := raw("Collect", d.rms)
	_, p := raw("Collect", d.params)
	check("Collect", C.ap_add_squares(s, p, C.int(len(d.params))), d.params...)
	d.chunks++
}

// Finish makes the statistics ready, once, after at least one Collect and before the first Step.
func (d *Dynamic) Finish() {
	scope := OpenScope()
	defer scope.Close()
	for _, sum := range d.rms {
		rms := sum.MulScalar(1 / float64(d.chunks)).Sqrt()
		sum.Assign(rms)
		if rms.Count() > 0 {
			d.mean += rms.Mean().Item() / float64(len(d.rms))
		}
	}
	if d.mean == 0 {
		d.mean = 1 // without any gradient no weight moves
	}
}

// Step moves the parameters by their gradients.
func (d *Dynamic) Step() {
	_, p := raw("Dynamic", d.params)
	_, start := raw("Dynamic", d.start)
	_, rms := raw("Dynamic", d.rms)
	check("Dynamic", C.ap_dynamic_step(p, start, rms, C.int(len(d.params)), C.double(d.Rate), C.double(d.Decay),
		C.double(d.mean), C.double(d.Epsilon)), d.params...)
}

// Reset takes the parameters back to where they started.
func (d *Dynamic) Reset() {
	for i, p := range d.params {
		p.Assign(d.start[i])
	}
}

// Free frees the statistics and the copy of the weights.
func (d *Dynamic) Free() {
	Free(d.start...)
	Free(d.rms...)
}
