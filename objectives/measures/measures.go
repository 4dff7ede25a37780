package measures

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Measures say how a matrix of word vectors W [V,D] fills its space, all in float64. With Z(a) = sum_i exp(w_i . a)
// over the unit eigenvectors a of W^T W (Mu and Viswanath 2018; Wang et al. 2020), vectors that point everywhere have
// I1 = 1 and I2 = 0. A measure that a matrix does not have is NaN.
//
// I1 and I2 depend on the scale of W, and shrinking W drives I1 to 1: read them beside Frobenius and SigmaRatio.
type Measures struct {
	Isotropy
	MeanCosine     float64   // over pairs i != j, divisor V(V-1); zero rows have cosine 0
	Frobenius      float64   // sqrt(sum of squares)
	SingularValues []float64 // falling
	SigmaRatio     float64   // smallest / largest
	EffectiveRank  float64   // exp of the entropy of s / sum s (Roy and Vetterli 2007)
	MeanShare      float64   // V |mean row|^2 / |W|^2: the share that the mean row has of the squares
	IsoScore       float64   // see Components.IsoScore

	leading [][]float64 // right singular vectors of the two largest singular values, for Project
}

// Measure computes the measures of w [V,D] on the CPU, in float64, some thousand
// rows at a time. The time goes into products of V D^2 multiplications.
func Measure(w torch.Tensor) (m Measures) {
	torch.ScopedNoGrad(func() { m = measure(w) })
	return m
}

func measure(w torch.Tensor) Measures {
	var m Measures
	gram, unit, rows := sums(w)
	directions := axes(gram)
	m.Isotropy = isotropy(w, directions)
	for d := w.Size(1); len(m.leading) < int(min(2, d)); { // the last columns belong to the largest values
		m.leading = append(m.leading, directions.Narrow(1, d-1-int64(len(m.leading)), 1).Float64s())
	}
	m.MeanCosine = math.NaN()
	if v := float64(w.Size(0)); rows > 0 && v > 1 {
		m.MeanCosine = (unit.Square().Sum().Item() - rows) / (v * (v - 1)) // |sum of unit rows|^2 counts pairs i = j too
	}
	m.Frobenius = math.Sqrt(gram.Gather(1, torch.Arange(gram.Size(0), torch.CPU).Reshape(-1, 1)).Sum().Item())
	m.centred(gram, w)
	m.SingularValues = singularValues(w).Float64s()
	m.SigmaRatio, m.EffectiveRank = math.NaN(), math.NaN()
	if s := m.SingularValues; len(s) > 0 && s[0] > 0 {
		m.SigmaRatio = s[len(s)-1] / s[0]
		m.EffectiveRank = effectiveRank(s)
	}
	return m
}

// centred finds what depends on the mean row, by W^T W [D,D].
func (m *Measures) centred(gram_DD, w torch.Tensor) {
	v, d := float64(w.Size(0)), w.Size(1)
	sum_1D := torch.Zeros(torch.Float64, torch.CPU, 1, d)
	eachChunk(w, func(x_CD torch.Tensor) { sum_1D.Assign(sum_1D.Add(x_CD.SumDim(0, true))) })
	ofMean := sum_1D.Square().Sum().Item() / v
	squares := m.Frobenius * m.Frobenius
	m.MeanShare = ofMean / squares
	scatter_DD := gram_DD.Sub(sum_1D.Transpose(0, 1).MatMul(sum_1D).MulScalar(1 / v))
	if variance := squares - ofMean; variance > 1e-12*squares { // rows that are all equal leave some 1e-15 by rounding
		m.IsoScore = isoScore(variance, scatter_DD.Square().Sum().Item(), float64(d))
	} else {
		m.IsoScore = math.NaN()
	}
}

// chunkRows is how many rows of a matrix are turned into float64 at a time, so
// that a large vocabulary needs no second copy of its matrix.
const chunkRows = 8192

// eachChunk gives the rows of w [V,D] to f in float64 on the CPU, some at a time, each in a scope of its own.
func eachChunk(w torch.Tensor, f func(x_CD torch.Tensor)) {
	for start := int64(0); start < w.Size(0); start += chunkRows {
		scope := torch.OpenScope()
		f(w.Narrow(0, start, min(chunkRows, w.Size(0)-start)).To(torch.Float64, torch.CPU))
		scope.Close()
	}
}

// sums gives W^T W [D,D], the sum of W's rows scaled to length one [D], and the number of rows that are not zero.
func sums(w torch.Tensor) (gram, unit torch.Tensor, rows float64) {
	d := w.Size(1)
	gram, unit = torch.Zeros(torch.Float64, torch.CPU, d, d), torch.Zeros(torch.Float64, torch.CPU, d)
	eachChunk(w, func(x torch.Tensor) {
		gram.Assign(gram.Add(x.Transpose(0, 1).MatMul(x)))
		directions := x.Div(x.Norm(1, true).ClampMin(math.SmallestNonzeroFloat32))
		unit.Assign(unit.Add(directions.SumDim(0, false)))
		rows += directions.Square().Sum().Item()
	})
	return gram, unit, rows
}

// singularValues gives those of w [V,D], falling, in float64 on the CPU. They are
// those of the small R in W = Q R, which grows by some rows of W at a time.
func singularValues(w torch.Tensor) torch.Tensor {
	return torch.Scoped(func() torch.Tensor {
		w := w.Detach()
		r := torch.Zeros(torch.Float64, torch.CPU, w.Size(1), w.Size(1))
		eachChunk(w, func(x torch.Tensor) {
			_, next := torch.Cat([]torch.Tensor{r, x}, 0).QR()
			r.Assign(next)
		})
		return r.SingularValues().Narrow(0, 0, min(w.Size(0), w.Size(1)))
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
