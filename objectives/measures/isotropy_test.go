package measures

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestIsotropyOfIsotropicVectors: rows that point everywhere alike have I1 near 1 and I2 near 0, a common direction
// takes that away.
func TestIsotropyOfIsotropicVectors(t *testing.T) {
	torch.Test(t, func() {
		w := torch.NewStream(1, "matrix").Normal(0, 0.25, torch.Float32, torch.CPU, 20000, 16)
		m := Measure(w)
		if m.I1 < 0.95 || m.I2 > 0.02 || m.I1BothSigns < 0.95 || math.Abs(m.MeanCosine) > 0.002 || m.SigmaRatio < 0.9 ||
			m.EffectiveRank < 15.9 {
			t.Errorf("isotropic vectors give %+v", m)
		}
		cone := Measure(w.AddScalar(0.25))
		if cone.I1 > 0.5 || cone.MeanCosine < 0.4 || cone.SigmaRatio > 0.3 {
			t.Errorf("a cone gives %+v", cone)
		}
	})
}

// TestMeasuresUnderRotation: no measure but I1 and I2 of one sign, whose rule looks at components, depends on the axes.
func TestMeasuresUnderRotation(t *testing.T) {
	for _, size := range sizes {
		torch.Test(t, func() {
			s := torch.NewStream(uint64(size[0]), "matrix")
			w := s.Normal(0.2, 1, torch.Float64, torch.CPU, size[0], size[1])
			turned := w.MatMul(orthonormal(s.Normal(0, 1, torch.Float64, torch.CPU, size[1], size[1])))
			a, b := Measure(w), Measure(turned)
			if size[0] >= size[1] { // else the eigenvectors of eigenvalue 0 are any
				near(t, "both signs", []float64{b.I1BothSigns, b.I2BothSigns}, []float64{a.I1BothSigns, a.I2BothSigns},
					1e-9)
			}
			if size[0] > 1 {
				near(t, "mean cosine", []float64{b.MeanCosine}, []float64{a.MeanCosine}, 1e-9)
			}
			near(t, "norm", []float64{b.Frobenius}, []float64{a.Frobenius}, 1e-9)
			near(t, "singular values", b.SingularValues, a.SingularValues, 1e-9)
			near(t, "ratio, rank", []float64{b.SigmaRatio, b.EffectiveRank}, []float64{a.SigmaRatio, a.EffectiveRank},
				1e-9)
		})
	}
}

// TestShrinkingRaisesI1: which is why matrices are compared at one Frobenius norm; what has no scale stays.
func TestShrinkingRaisesI1(t *testing.T) {
	torch.Test(t, func() {
		w := torch.NewStream(4, "matrix").Normal(0.2, 1, torch.Float64, torch.CPU, 200, 6)
		last := -1.0
		for _, factor := range []float64{4, 2, 1, 0.5, 0.01} {
			m := Measure(w.MulScalar(factor))
			if m.I1 <= last {
				t.Errorf("at %v times the size I1 is %v, before %v", factor, m.I1, last)
			}
			last = m.I1
			near(t, "cosine, ratio, rank", []float64{m.MeanCosine, m.SigmaRatio, m.EffectiveRank},
				[]float64{Measure(w).MeanCosine, Measure(w).SigmaRatio, Measure(w).EffectiveRank}, 1e-10)
		}
		if last < 0.9 {
			t.Errorf("a hundredth of the size has I1 %v", last)
		}
	})
}

// TestMeasuresInChunks: a matrix of more rows than are read at a time equals the definitions applied to it whole.
func TestMeasuresInChunks(t *testing.T) {
	torch.Test(t, func() {
		w := torch.NewStream(6, "matrix").Normal(0.1, 0.5, torch.Float32, torch.CPU, 2*chunkRows+5, 3)
		m, whole := Measure(w), w.To(torch.Float64, torch.CPU)
		_, vectors := whole.Transpose(0, 1).MatMul(whole).Eigh()
		logs := whole.MatMul(torch.Cat([]torch.Tensor{vectors, vectors.Neg()}, 1)).LogSumExp(0, false).Float64s()
		i1, i2 := spread(logs)
		unit := whole.Div(whole.Norm(1, true))
		v := float64(w.Size(0))
		cosine := (unit.SumDim(0, false).Square().Sum().Item() - v) / (v * (v - 1))
		near(t, "both signs, cosine", []float64{m.I1BothSigns, m.I2BothSigns, m.MeanCosine}, []float64{i1, i2, cosine},
			1e-12)
		near(t, "singular values", m.SingularValues, whole.SingularValues().Float64s(), 1e-12)
		near(t, "norms", RowNorms(w), whole.Norm(1, false).Float64s(), 0)
	})
}

func TestSampledIsotropy(t *testing.T) {
	torch.Test(t, func() {
		w := torch.NewStream(2, "matrix").Normal(0.1, 0.5, torch.Float32, torch.CPU, 3000, 5)
		all := Measure(w).Isotropy
		if got := SampledIsotropy(w, 3000, 7, torch.NewStream(1, "rows")); got != all {
			t.Errorf("all rows give %+v, want %+v", got, all)
		}
		first := SampledIsotropy(w, 1500, 4, torch.NewStream(1, "rows"))
		if again := SampledIsotropy(w, 1500, 4, torch.NewStream(1, "rows")); again != first {
			t.Errorf("one seed gives %+v and %+v", first, again)
		}
		if other := SampledIsotropy(w, 1500, 4, torch.NewStream(2, "rows")); other == first {
			t.Error("another seed draws the same rows")
		}
		near(t, "I1 of a sample", []float64{first.I1}, []float64{all.I1}, 0.1)
	})
}

// TestPartitionSpread: against the definition, and by its limits: 0 without length, sqrt(V)-small for many short
// vectors.
func TestPartitionSpread(t *testing.T) {
	torch.Test(t, func() {
		s := torch.NewStream(9, "matrix")
		w := s.Normal(0.5, 1, torch.Float64, torch.CPU, 13, 4)
		got := PartitionSpread(w, 50, torch.NewStream(1, "directions"))
		a := torch.NewStream(1, "directions").Normal(0, 1, torch.Float64, torch.CPU, 4, 50)
		z := w.MatMul(a.Div(a.Square().SumDim(0, true).Sqrt())).Exp().SumDim(0, false)
		mean := z.Mean()
		near(t, "spread", []float64{got}, []float64{math.Sqrt(z.Sub(mean).Square().Mean().Item()) / mean.Item()}, 1e-12)
		if zero := PartitionSpread(torch.Zeros(torch.Float32, torch.CPU, 5, 3), 20, s); zero > 1e-12 {
			t.Errorf("no vectors spread by %v", zero)
		}
		short := PartitionSpread(s.Normal(0, 0.1, torch.Float64, torch.CPU, 5000, 4), 100, s)
		long := PartitionSpread(w.MulScalar(100), 100, s)
		if short > 0.01 || !(long > 0.5) {
			t.Errorf("many short vectors spread by %v, few long ones by %v", short, long)
		}
	})
}

// TestRankCorrelation has its number with ties from scipy.stats.spearmanr.
func TestRankCorrelation(t *testing.T) {
	x, y := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}, []float64{2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4}
	nan := math.NaN()
	near(t, "with ties", []float64{RankCorrelation(x, y)}, []float64{0.1384567651467695}, 1e-12)
	near(t, "beside what is not known", []float64{RankCorrelation(append(x, nan, 7), append(y, 3, nan))},
		[]float64{0.1384567651467695}, 1e-12)
	near(t, "rising", []float64{RankCorrelation([]float64{1, 2, 30}, []float64{-5, 0, 1e9})}, []float64{1}, 0)
	near(t, "falling", []float64{RankCorrelation([]float64{1, 2, 30}, []float64{5, 0, -1})}, []float64{-1}, 0)
	for _, c := range []float64{RankCorrelation(nil, nil), RankCorrelation([]float64{1}, []float64{2}),
		RankCorrelation([]float64{1, 2}, []float64{3, 3})} {
		if !math.IsNaN(c) {
			t.Errorf("what does not vary has correlation %v", c)
		}
	}
}
