package measures

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

func TestMeasuresEqualPyTorch(t *testing.T) {
	for _, name := range []string{"random", "narrow", "published", "zero"} {
		t.Run(name, func(t *testing.T) {
			torch.Test(t, func() {
				g := golden(t)
				m := Measure(g["measure/"+name+"/w"])
				for key, got := range map[string]float64{
					"i1": m.I1, "i2": m.I2, "i1_both_signs": m.I1BothSigns, "i2_both_signs": m.I2BothSigns,
					"mean_cosine": m.MeanCosine,
					"frobenius":   m.Frobenius, "sigma_ratio": m.SigmaRatio, "effective_rank": m.EffectiveRank,
				} {
					want := g["measure/"+name+"/"+key]
					if !want.Defined() {
						if !math.IsNaN(got) {
							t.Errorf("%s is %v where it is not defined", key, got)
						}
						continue
					}
					near(t, key, []float64{got}, want.Float64s(), 1e-12)
				}
				near(t, "singular values", m.SingularValues, g["measure/"+name+"/singular_values"].Float64s(), 1e-12)
			})
		})
	}
}

// TestMeasuresOfPublishedExample has its numbers from the definitions, by hand.
func TestMeasuresOfPublishedExample(t *testing.T) {
	torch.Test(t, func() {
		m := Measure(torch.FromFloat64s([]float64{1, 2, 3, -1, -2, 0.5}, torch.CPU, 3, 2))
		near(t, "isotropy", []float64{m.I1, m.I2, m.I1BothSigns, m.I2BothSigns},
			[]float64{0.419344, 0.409102, 0.098029, 0.714325}, 1e-6)
		for i, eigenvalue := range []float64{14.43547, 4.81453} {
			near(t, "eigenvalue", []float64{m.SingularValues[i] * m.SingularValues[i]}, []float64{eigenvalue}, 1e-6)
		}
	})
}

// TestCosineHistogram: all pairs of rows are counted, of 2,000 where there are more; rows of zeros are left out.
func TestCosineHistogram(t *testing.T) {
	torch.Test(t, func() {
		s := torch.NewStream(1, "matrix")
		for rows, used := range map[int64]float64{0: 0, 1: 1, 1999: 1999, 2001: 2000, 2500: 2000, 4100: 2000} {
			w := torch.Cat([]torch.Tensor{torch.Zeros(torch.Float32, torch.CPU, 3, 4),
				s.Normal(0, 1, torch.Float32, torch.CPU, rows, 4)}, 0)
			pairs := 0.0
			for _, n := range CosineHistogram(w) {
				pairs += n
			}
			if want := used * (used - 1) / 2; pairs != want {
				t.Errorf("of %d rows %v pairs are counted, want %v", rows, pairs, want)
			}
		}
	})
}

// TestMeasuresAtTheEdges covers matrices of few rows, large scores and zero rows.
func TestMeasuresAtTheEdges(t *testing.T) {
	torch.Test(t, func() {
		s := torch.NewStream(1, "matrix")
		one := Measure(s.Normal(0, 1, torch.Float32, torch.CPU, 1, 5))
		if !math.IsNaN(one.MeanCosine) || !(one.I1 > 0) || len(one.SingularValues) != 1 || one.SigmaRatio != 1 {
			t.Errorf("one row gives %+v", one)
		}
		large := Measure(s.Normal(0, 1e4, torch.Float64, torch.CPU, 20, 5))
		if math.IsNaN(large.I1+large.I2+large.I1BothSigns+large.I2BothSigns) || large.I1 < 0 {
			t.Errorf("large scores give %+v", large)
		}
		w := s.Normal(0, 1, torch.Float64, torch.CPU, 6, 3)
		padded := Measure(torch.Cat([]torch.Tensor{torch.Zeros(torch.Float64, torch.CPU, 1, 3), w}, 0))
		near(t, "mean cosine beside a row of zeros", []float64{padded.MeanCosine * 7 * 6},
			[]float64{Measure(w).MeanCosine * 6 * 5}, 1e-12)
		flipped := Measure(w.Neg())
		near(t, "effective rank of -W", []float64{flipped.EffectiveRank}, []float64{Measure(w).EffectiveRank}, 1e-12)
		near(t, "both signs of -W", []float64{flipped.I1BothSigns, flipped.I2BothSigns},
			[]float64{Measure(w).I1BothSigns, Measure(w).I2BothSigns}, 1e-12)
	})
}
