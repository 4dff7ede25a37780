package torch

// #include "api.h"
import "C"

import "math"

// Continuous names a loss between a hidden state h and its frozen unit target e. With
// kappa = |h|, u = h/kappa and the cosine c = u . e, one row of each is written beside it.
type Continuous int

// The von Mises-Fisher losses of Kumar and Tsvetkov (2019), their code's, and others. The
// order is that of the cases in csrc/losses/continuous_loss.cc.
const (
	VMFNLL         Continuous = iota // -log C(kappa) - kappa c
	VMFReg1                          // -log C(kappa) - kappa c + Lambda1 kappa
	VMFReg2                          // -log C(kappa) - Lambda2 kappa c
	VMFReg1Reg2                      // -log C(kappa) + Lambda1 kappa - Lambda2 kappa c
	VMFLog1p                         // -log C(kappa) + log(1 + kappa) (Lambda1 - c), the authors' code
	PowerSpherical                   // -log of the power spherical density (De Cao and Aziz 2020)
	SquaredL2                        // |h - e|^2, the authors' code
	RootedL2                         // |h - e|, their text
	Cosine                           // 1 - c
	MaxMargin                        // max(0, Lambda1 + u . n - c) for a wrong vector n
)

// ContinuousLossOptions are the settings of ContinuousLoss.
type ContinuousLossOptions struct {
	Kind             Continuous
	Lambda1, Lambda2 float64
	Ignore           int64   // targets with this id count as nothing
	Scale            float64 // factor of the summed loss, e.g. 1/tokens of the update
	Negatives        Tensor  // int64 [N], MaxMargin alone: the wrong vector of each row, -1 for none
	Evaluate         bool    // no gradients are computed
}

// ContinuousLoss is the loss of hidden states [N,M] against the rows of table [V,M] that int64 targets [N] name:
// summed, times Scale, without dimensions; and the clean loss of each row [N], 0 where ignored, without a gradient.
// Both are float64: the numbers are hundreds of nats a row, and differ in their last digits. Rows of the table must be
// unit vectors; a zero row has cosine 0 with everything. Gradients flow to hidden alone.
//
// The clean loss is the negative log-density of the target for every von Mises-Fisher form and
// the power spherical; for L2 and cosine the loss itself; for MaxMargin 1 - c.
//
// A hidden state shorter than 1e-8 has no direction: under Cosine and MaxMargin its
// cosines are 0 and it gets no gradient.
func ContinuousLoss(hidden, table, targets Tensor, o ContinuousLossOptions) (loss, nll Tensor) {
	const op = "ContinuousLoss"
	var l, clean C.ap_tensor
	return madeTwo(op, C.ap_continuous_loss(hidden.c(op), table.c(op), targets.c(op), o.Negatives.orNull(op),
		C.int64_t(o.Ignore), C.int(o.Kind), C.double(o.Lambda1), C.double(o.Lambda2), C.double(o.Scale),
		C.bool(!o.Evaluate), &l, &clean), &l, &clean, hidden, table, targets, o.Negatives)
}

// InformativeNegatives picks for each row the vector that is nearest to the output and farthest from the target
// (Lazaridou et al. 2015): the id j of the largest (u - e) . table_j, without the target itself; -1 where there is
// none. bias [V] is added to the scores: -1e30 keeps a word out. hidden is [N,M], table [V,M], targets int64 [N], the
// result int64 [N], without a gradient. It costs one product of N V M multiplications, in chunks of 512 rows.
func InformativeNegatives(hidden, table, bias, targets Tensor, ignore int64) Tensor {
	const op = "InformativeNegatives"
	var out C.ap_tensor
	return made(op, C.ap_informative_negatives(hidden.c(op), table.c(op), bias.c(op), targets.c(op), C.int64_t(ignore),
		0, &out), &out, hidden, table, bias, targets)
}

// ContinuousLossReference is ContinuousLoss made of plain operators, for hidden states that have a direction.
func ContinuousLossReference(hidden, table, targets Tensor, o ContinuousLossOptions) (loss, nll Tensor) {
	ignored := targets.EqualScalar(float64(o.Ignore))
	pick := func(ids Tensor) Tensor { return table.IndexSelect(0, ids).Detach().To(Float64, table.Device()) }
	h, e, m := hidden.To(Float64, hidden.Device()), pick(targets.MaskedFill(ignored, 0)), hidden.Size(1)
	kappa := h.Norm(1, false)
	dot := h.Mul(e).SumDim(1, false)
	c := dot.Div(kappa)
	minusLogC := func() Tensor {
		logC, _ := VMFNormaliser(kappa, m)
		return logC.Neg()
	}
	var row, clean Tensor
	switch o.Kind {
	case VMFNLL:
		row = minusLogC().Sub(dot)
	case VMFReg1:
		row = minusLogC().Sub(dot).Add(kappa.MulScalar(o.Lambda1))
	case VMFReg2:
		row = minusLogC().Sub(dot.MulScalar(o.Lambda2))
	case VMFReg1Reg2:
		row = minusLogC().Sub(dot.MulScalar(o.Lambda2)).Add(kappa.MulScalar(o.Lambda1))
	case VMFLog1p:
		row = minusLogC().Sub(kappa.AddScalar(1).Log().Mul(c.AddScalar(-o.Lambda1)))
	case PowerSpherical:
		row = powerSphericalReference(kappa, c, m)
	case SquaredL2:
		row = h.Sub(e).Square().SumDim(1, false)
	case RootedL2:
		row = h.Sub(e).Norm(1, false)
	case Cosine:
		row = c.Neg().AddScalar(1)
	case MaxMargin:
		clean = c.Neg().AddScalar(1)
		none := o.Negatives.EqualScalar(-1)
		other := h.Mul(pick(o.Negatives.MaskedFill(none, 0))).SumDim(1, false).Div(kappa)
		row = other.Sub(c).AddScalar(o.Lambda1).Relu().MaskedFill(none, 0)
	}
	switch {
	case o.Kind <= VMFLog1p:
		clean = minusLogC().Sub(dot)
	case o.Kind != MaxMargin:
		clean = row
	}
	return row.MaskedFill(ignored, 0).Sum().MulScalar(o.Scale), clean.MaskedFill(ignored, 0).Detach()
}

// powerSphericalReference is the negative log-density from its definition; the log of
// the gamma function is Stirling's series 20 further on.
func powerSphericalReference(kappa, c Tensor, m int64) Tensor {
	b := float64(m-1) / 2
	logGamma := func(x Tensor) Tensor {
		shift := x.Log()
		for i := 1; i < 20; i++ {
			shift = shift.Add(x.AddScalar(float64(i)).Log())
		}
		y := x.AddScalar(20)
		tail := y.Pow(-1).MulScalar(1.0 / 12).Sub(y.Pow(-3).MulScalar(1.0 / 360)).Add(y.Pow(-5).MulScalar(1.0 / 1260))
		return y.AddScalar(-0.5).Mul(y.Log()).Sub(y).AddScalar(0.5 * math.Log(2*math.Pi)).Add(tail).Sub(shift)
	}
	a := kappa.AddScalar(b)
	nll := kappa.AddScalar(2 * b).MulScalar(math.Ln2).AddScalar(b * math.Log(math.Pi)).Sub(
		kappa.Mul(c.AddScalar(1).Log()))
	if b > 0 {
		nll = nll.Add(logGamma(a)).Sub(logGamma(a.AddScalar(b)))
	}
	return nll
}
