package objectives

import (
	"encoding/json"
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Measures say how a matrix of word vectors W [V,D] fills its space, all in
// float64. With Z(a) = sum_i exp(w_i . a) over the unit eigenvectors a of W^T W
// (Mu and Viswanath 2018; Wang et al. 2020), vectors that point everywhere
// have I1 = 1 and I2 = 0. A measure that a matrix does not have is NaN, in JSON
// null.
//
// I1 and I2 depend on the scale of W, and shrinking W drives I1 to 1: read them
// beside Frobenius and SigmaRatio.
type Measures struct {
	I1             float64   `json:"i1"`              // min Z / max Z; an eigenvector's largest component is positive
	I2             float64   `json:"i2"`              // population standard deviation of Z / its mean
	I1BothSigns    float64   `json:"i1_both_signs"`   // the same over a and -a
	I2BothSigns    float64   `json:"i2_both_signs"`   //
	MeanCosine     float64   `json:"mean_cosine"`     // over pairs i != j, divisor V(V-1); zero rows have cosine 0
	Frobenius      float64   `json:"frobenius"`       // sqrt(sum of squares)
	SingularValues []float64 `json:"singular_values"` // falling
	SigmaRatio     float64   `json:"sigma_ratio"`     // smallest / largest
	EffectiveRank  float64   `json:"effective_rank"`  // exp of the entropy of s / sum s (Roy and Vetterli 2007)
}

// MarshalJSON writes NaN as null.
func (m Measures) MarshalJSON() ([]byte, error) {
	number := func(x float64) any {
		if math.IsNaN(x) {
			return nil
		}
		return x
	}
	return json.Marshal(struct {
		I1             any       `json:"i1"`
		I2             any       `json:"i2"`
		I1BothSigns    any       `json:"i1_both_signs"`
		I2BothSigns    any       `json:"i2_both_signs"`
		MeanCosine     any       `json:"mean_cosine"`
		Frobenius      any       `json:"frobenius"`
		SingularValues []float64 `json:"singular_values"`
		SigmaRatio     any       `json:"sigma_ratio"`
		EffectiveRank  any       `json:"effective_rank"`
	}{number(m.I1), number(m.I2), number(m.I1BothSigns), number(m.I2BothSigns), number(m.MeanCosine), number(m.Frobenius),
		m.SingularValues, number(m.SigmaRatio), number(m.EffectiveRank)})
}

// Measure computes the measures of w [V,D] on the CPU, in float64. The time goes
// into products of V D^2 multiplications.
func Measure(w torch.Tensor) (m Measures) {
	scope := torch.OpenScope()
	defer scope.Close()
	torch.NoGrad(func() { m = measure(w.To(torch.Float64, torch.CPU)) })
	return m
}

func measure(w torch.Tensor) Measures {
	var m Measures
	logZ, opposite := logPartitions(w)
	m.I1, m.I2 = spread(logZ)
	m.I1BothSigns, m.I2BothSigns = spread(append(logZ, opposite...))
	m.MeanCosine = meanCosine(w)
	m.Frobenius = math.Sqrt(w.Square().Sum().Item())
	m.SingularValues = singularValues(w).Float64s()
	m.SigmaRatio, m.EffectiveRank = math.NaN(), math.NaN()
	if s := m.SingularValues; len(s) > 0 && s[0] > 0 {
		m.SigmaRatio = s[len(s)-1] / s[0]
		m.EffectiveRank = effectiveRank(s)
	}
	return m
}

// logPartitions gives log Z(a), and log Z(-a), for the eigenvectors a of W^T W.
func logPartitions(w torch.Tensor) (plus, minus []float64) {
	_, vectors := w.Transpose(0, 1).MatMul(w).Eigh() // [D,D], a column each
	d := int(vectors.Size(0))
	signs := make([]float64, d)
	values := vectors.Float64s()
	for column := range signs {
		largest := 0.0
		for row := range d {
			if v := values[row*d+column]; math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		signs[column] = math.Copysign(1, largest)
	}
	scores := w.MatMul(vectors.Mul(torch.FromFloat64s(signs, torch.CPU, int64(d))))
	return scores.LogSumExp(0, false).Float64s(), scores.Neg().LogSumExp(0, false).Float64s()
}

// spread gives min/max and standard deviation/mean of exp(logs), relative to the
// largest so that large scores do not overflow.
func spread(logs []float64) (ratio, deviation float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range logs {
		low, high = math.Min(low, l), math.Max(high, l)
	}
	mean := 0.0
	for _, l := range logs {
		mean += math.Exp(l-high) / float64(len(logs))
	}
	variance := 0.0
	for _, l := range logs {
		x := math.Exp(l-high) - mean
		variance += x * x / float64(len(logs))
	}
	return math.Exp(low - high), math.Sqrt(variance) / mean
}

// meanCosine uses |sum of unit rows|^2 = sum over all pairs, i = j included.
func meanCosine(w torch.Tensor) float64 {
	norms := w.Norm(1, true)
	unit := w.Div(norms.ClampMin(math.SmallestNonzeroFloat32))
	own := unit.Square().Sum().Item() // rows that are not zero
	v := float64(w.Size(0))
	if own == 0 || v < 2 {
		return math.NaN()
	}
	return (unit.SumDim(0, false).Square().Sum().Item() - own) / (v * (v - 1))
}

// singularValues gives those of w, falling, in float64 on the CPU. A tall matrix
// is made small first: those of R in W = Q R are the same.
func singularValues(w torch.Tensor) torch.Tensor {
	return torch.Scoped(func() torch.Tensor {
		w := w.Detach().To(torch.Float64, torch.CPU)
		if w.Size(0) > w.Size(1) {
			_, w = w.QR()
		}
		return w.SingularValues()
	})
}

func effectiveRank(s []float64) float64 {
	sum, entropy := 0.0, 0.0
	for _, v := range s {
		sum += v
	}
	for _, v := range s {
		if p := v / sum; p > 0 {
			entropy -= p * math.Log(p)
		}
	}
	return math.Exp(entropy)
}
