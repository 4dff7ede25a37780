package objectives

import (
	"github.com/aperture-ml/aperture/torch"
)

// Adversarial is the adversarial softmax (D. Wang, Gong and Liu 2019, "Improving
// neural language modeling via adversarial training"): the likelihood of the
// worst output vectors within a ball around those of the model. The worst that a
// ball of radius epsilon does to the target's score has a closed form,
//
//	min over |d| <= epsilon of (w_y + d) h = w_y h - epsilon |h|,
//
// so training takes epsilon |h| off the target's score and leaves all others.
// The radius is epsilon = alpha |w_y|, or alpha itself. It costs 2 N D
// multiplications for N rows.
//
// The authors' text and their code differ in what is differentiated; Mode says
// which is meant, and the value is the same in all:
//
//	Code   of h, with the radius a constant; by the envelope theorem, the
//	       gradient of w_y + d with the worst d held fixed
//	Paper  of nothing: the perturbation is a constant
//	Full   of h and w_y
//
// Departures from the authors' code: the perturbation belongs to a position (a
// table by word lets the last of repeated targets speak for all), and norms have
// no constant under their root (a zero h or w_y shifts nothing and gets no
// gradient). Gate, off in the paper, is on in their code.
//
// Legend: N rows, D width.
type Adversarial struct {
	Alpha float64 // 0.005 in the paper
	Mode  AdversarialMode
	Fixed bool // the radius is Alpha, not Alpha |w_y|
	Gate  bool // only where cos(h, w_y) > 0
}

// AdversarialMode says what of an adversarial shift is differentiated.
type AdversarialMode int

// The three modes.
const (
	AdversarialCode  AdversarialMode = iota // of hidden states
	AdversarialPaper                        // of nothing
	AdversarialFull                         // of hidden states and of W
)

// Shift is epsilon |h|, for hidden states [...,D] and what makes the targets' rows
// of W [...,D].
func (a *Adversarial) Shift(hidden torch.Tensor, rows func() torch.Tensor) (shift torch.Tensor) {
	switch a.Mode {
	case AdversarialFull:
		return a.radius(hidden, rows).Mul(hidden.Norm(-1, false))
	case AdversarialPaper:
		torch.NoGrad(func() { shift = a.radius(hidden, rows).Mul(hidden.Norm(-1, false)) })
		return shift
	}
	var radius torch.Tensor
	torch.NoGrad(func() { radius = a.radius(hidden, rows) })
	return radius.Mul(hidden.Norm(-1, false))
}

// radius is epsilon, and 0 behind the gate: [...], or without dimensions where it
// is the same everywhere.
func (a *Adversarial) radius(hidden torch.Tensor, rows func() torch.Tensor) torch.Tensor {
	if a.Fixed && !a.Gate {
		return torch.Full(a.Alpha, hidden.DType(), hidden.Device())
	}
	w := rows()
	radius := torch.Full(a.Alpha, hidden.DType(), hidden.Device())
	if !a.Fixed {
		radius = w.Norm(-1, false).MulScalar(a.Alpha)
	}
	if a.Gate {
		torch.NoGrad(func() { w = hidden.Mul(w).SumDim(-1, false) })
		zero := torch.Zeros(w.DType(), w.Device())
		radius = radius.Mul(zero.Less(w).To(radius.DType(), radius.Device()))
	}
	return radius
}

// perturbed is the part that likelihoods of the softmax family share: what
// perturbs their targets' scores, and what that adds to the loss.
type perturbed struct {
	by   Perturbation // or nil
	gain torch.Tensor // what the perturbation adds to the mean loss of an update so far; kept
	next bool         // the next loss begins another update
}

// Perturb comes before every Loss.
func (l *perturbed) Perturb(p Perturbation) { l.by = p }

// record adds what a batch's perturbation added to its loss, from negative
// log-likelihoods [N] with and without it. Nothing waits for the device.
func (l *perturbed) record(shifted, clean torch.Tensor, scale float64) {
	scope := torch.OpenScope()
	defer scope.Close()
	torch.NoGrad(func() {
		gain := shifted.Sub(clean).Sum().MulScalar(scale)
		if !l.gain.Defined() {
			l.gain = gain
			torch.Keep(gain)
			return
		}
		if !l.next {
			gain = l.gain.Add(gain)
		}
		l.gain.Assign(gain)
	})
	l.next = false
}

// closeUpdate says that the next batch belongs to another update.
func (l *perturbed) closeUpdate() { l.next = true }

// Report gives the gain of the last update by name, where there is one.
func (l *perturbed) Report() map[string]float64 {
	if !l.gain.Defined() {
		return nil
	}
	return map[string]float64{"adversarial_gain": l.gain.Item()}
}

// Free frees the gain.
func (l *perturbed) Free() { torch.Free(l.gain) }
