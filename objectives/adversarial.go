package objectives

import (
	"github.com/aperture-ml/aperture/torch"
)

// adversarial is the method: a perturbation.
var adversarial = Method{
	Name: "adversarial",
	Summary: "lowers the target's score, in training, to the worst that a small change of the word vectors could make " +
		"of it",
	Paper:   "Wang, Gong and Liu 2019",
	Formula: "mle with W h - alpha |w_y| |h| as the target's score, in training only", Parameters: "none",
	Cost:     "the lengths of h and of w_y for each target",
	Settings: []any{AdversarialSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		a := Of[AdversarialSettings](s)
		return Pieces{Perturbation: &Adversarial{Alpha: a.Alpha, Mode: adversarialModes[a.AdversarialMode]}}
	},
}

// AdversarialSettings are the keys of the adversarial softmax.
type AdversarialSettings struct {
	Alpha           float64 `toml:"alpha" default:"0.005" range:"[0,inf)" help:"adversarial: radius of the perturbation relative to the target's norm"`
	AdversarialMode string  `toml:"adversarial_mode" default:"code" choice:"code paper full" help:"adversarial: what is differentiated: the hidden state alone, as in the paper's algorithm 1 and the authors' code; nothing, as a remark of its section 3.1 has it; or everything"`
}

var adversarialModes = map[string]AdversarialMode{"code": AdversarialCode, "paper": AdversarialPaper,
	"full": AdversarialFull}

// Adversarial is the adversarial softmax (D. Wang, Gong and Liu 2019, "Improving neural language modeling via
// adversarial training"): the likelihood of the worst output vectors within a ball around those of the model. The worst
// that a ball of radius epsilon does to the target's score has a closed form (equation 6),
//
//	min over |d| <= epsilon of (w_y + d) h = w_y h - epsilon |h|,
//
// so training takes epsilon |h| off the target's score and leaves all others. Moving every vector by at most epsilon/2
// comes to the same (theorem 3.1). The radius is epsilon = alpha |w_y| (a remark in algorithm 1). It costs 2 N D
// multiplications for N rows.
//
// Mode says of what the shift epsilon |h| is differentiated; its value is the same in all:
//
//	Code   of h, with the radius a constant. By the envelope theorem that is the gradient of
//	       (w_y + d) h with the worst d held fixed: algorithm 1, and the authors' code
//	Paper  of nothing: section 3.1 remarks that the norm term is not back-propagated through,
//	       and this takes it at its word
//	Full   of h and w_y
//
// Departures from the authors' code: the perturbation belongs to a position (they keep it in a table by word, where the
// last of repeated targets overwrites the others), and norms have no constant under their root (a zero h or w_y shifts
// nothing and gets no gradient).
//
// Legend: N rows, D width.
type Adversarial struct {
	Alpha float64 // 0.005 in the paper
	Mode  AdversarialMode
}

// AdversarialMode says what of an adversarial shift is differentiated.
type AdversarialMode int

// The three modes.
const (
	AdversarialCode  AdversarialMode = iota // of hidden states
	AdversarialPaper                        // of nothing
	AdversarialFull                         // of hidden states and of W
)

// Name is "adversarial".
func (a *Adversarial) Name() string { return "adversarial" }

// Operations are those of finding the targets' rows, which get gradients in one mode alone.
func (a *Adversarial) Operations(w Work) torch.Operations {
	all := w.Embedding(Work{Rows: int64(len(w.Targets))})
	if a.Mode != AdversarialFull {
		all.Backward = 0
	}
	return all
}

// Shift is epsilon |h|, for hidden states [...,D] and what makes the targets' rows of W [...,D].
func (a *Adversarial) Shift(hidden torch.Tensor, rows func() torch.Tensor) (shift torch.Tensor) {
	radius := func() torch.Tensor { return rows().Norm(-1, false).MulScalar(a.Alpha) }
	switch a.Mode {
	case AdversarialFull:
		return radius().Mul(hidden.Norm(-1, false))
	case AdversarialPaper:
		torch.NoGrad(func() { shift = radius().Mul(hidden.Norm(-1, false)) })
		return shift
	}
	torch.NoGrad(func() { shift = radius() })
	return shift.Mul(hidden.Norm(-1, false))
}
