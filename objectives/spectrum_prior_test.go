package objectives

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestPriorsMatchTheEnergyOfADenseMatrix checks the scales that keep the
// Frobenius norm of published models' initial embeddings, U(-0.1, 0.1): variance
// 1/300 for an AWD-LSTM, N(0, 0.02) for a Transformer-XL.
func TestPriorsMatchTheEnergyOfADenseMatrix(t *testing.T) {
	for _, c := range []struct {
		rows, columns   int
		variance        float64
		gamma           float64
		scale, smallest float64
	}{
		{33278, 400, 1.0 / 300, 0.25, 33.9, 7.6},
		{33278, 400, 1.0 / 300, 0.5, 82.2, 4.1},
		{33278, 400, 1.0 / 300, 0.75, 132.9, 1.5},
		{10000, 400, 1.0 / 300, 0.25, 18.6, 0},
		{10000, 400, 1.0 / 300, 0.5, 45.1, 0},
		{10000, 400, 1.0 / 300, 0.75, 72.9, 0},
		{267735, 410, 0.0004, 0.25, 33.5, 0},
		{267735, 410, 0.0004, 0.5, 81.6, 0},
		{267735, 410, 0.0004, 0.75, 132.2, 0},
	} {
		energy := float64(c.rows*c.columns) * c.variance
		values := Prior{Kind: Polynomial, Power: c.gamma}.Values(c.columns, energy)
		if math.Abs(values[0]-c.scale) > 0.2 { // the published energies are rounded
			t.Errorf("%d rows, gamma %v: c1 is %v, want %v", c.rows, c.gamma, values[0], c.scale)
		}
		if last := values[len(values)-1]; c.smallest > 0 && math.Abs(last-c.smallest) > 0.06 {
			t.Errorf("%d rows, gamma %v: the last value is %v, want %v", c.rows, c.gamma, last, c.smallest)
		}
	}
}

func TestPriorValues(t *testing.T) {
	for _, k := range []int{1, 2, 31, 512} {
		for _, p := range []Prior{
			{Kind: Exponential, Power: 0.75, Ratio: 0.2},
			{Kind: Exponential, Power: 2, Ratio: 0.05},
			{Kind: Exponential, Power: 0.75, Ratio: 1},
			{Kind: Exponential, Power: 1, Rate: 0.01},
			{Kind: Exponential, Power: 10, Ratio: 1e-6},
			{Kind: Exponential, Ratio: 0.3},
			{Kind: Exponential, Ratio: 5e-324},
			{Kind: Exponential, Rate: 710},
			{Kind: Exponential, Rate: math.MaxFloat64, Power: 10},
			{Kind: Exponential, Rate: math.MaxFloat64, Power: 1e-300},
			{Kind: Exponential, Power: 1e-20, Ratio: 0.3},
			{Kind: Exponential, Power: 5e-324, Ratio: 1},
			{Kind: Polynomial, Ratio: 5e-324},
			{Kind: Polynomial, Power: 5e-324},
			{Kind: Polynomial, Ratio: 0.3},
			{Kind: Polynomial, Ratio: 1},
			{Kind: Polynomial, Power: 0.5},
			{Kind: Polynomial, Power: 3},
		} {
			const energy = 9000.0
			values := p.Values(k, energy)
			sum := 0.0
			for i, v := range values {
				sum += v * v
				if !(v >= 0) || i > 0 && v > values[i-1]*(1+1e-12) {
					t.Fatalf("%+v: value %d of %d is %v after %v", p, i, k, v, values[max(i-1, 0)])
				}
			}
			near(t, "energy", []float64{sum}, []float64{energy}, 1e-12)
			if p.Ratio > 1e-300 && k > 1 {
				near(t, "ratio", []float64{values[k-1] / values[0]}, []float64{p.Ratio}, 1e-9)
			}
		}
	}
	near(t, "the exponential's own power", Prior{Ratio: 0.3}.Values(31, 5),
		Prior{Ratio: 0.3, Power: 0.75}.Values(31, 5), 1e-12)
	near(t, "power goes before ratio", Prior{Kind: Polynomial, Scale: 3, Power: 1, Ratio: 0.5}.Values(3, 1),
		[]float64{3, 1.5, 1}, 1e-12)
	near(t, "norm", Prior{Kind: Polynomial, Power: 1, Norm: 4}.Values(2, 5), []float64{8, 4}, 1e-12)
	near(t, "norm", Prior{Kind: Exponential, Rate: math.Ln2, Power: 1, Norm: 4}.Values(2, 5), []float64{8, 4}, 1e-12)
	near(t, "scale goes before norm", Prior{Kind: Polynomial, Scale: 3, Power: 1, Norm: 4}.Values(2, 5),
		[]float64{3, 1.5}, 1e-12)
	near(t, "scale", Prior{Kind: Polynomial, Scale: 3, Power: 1}.Values(3, 1), []float64{3, 1.5, 1}, 1e-12)
	near(t, "scale", Prior{Kind: Exponential, Scale: 2, Rate: 1, Power: 1}.Values(2, 1),
		[]float64{2 / math.E, 2 / math.E / math.E}, 1e-12)
	near(t, "a steep rate", Prior{Rate: 1e4, Power: 1e-4 / math.Ln2, Norm: 3}.Values(2, 1),
		[]float64{3 / math.Sqrt(1+math.Exp(-2.0001)), 3 / math.Sqrt(1+math.Exp(2.0001))}, 1e-8)
	near(t, "a steep rate from a scale", Prior{Rate: math.MaxFloat64, Scale: 3}.Values(2, 1), []float64{0, 0}, 0)
	near(t, "without a power, an exponential is a polynomial", Prior{Power: 1e-20, Ratio: 0.3}.Values(31, 5),
		Prior{Kind: Polynomial, Ratio: 0.3}.Values(31, 5), 1e-12)
	near(t, "and no scale keeps a c2 that has no bound", Prior{Power: 1e-320, Ratio: 0.3, Scale: 5}.Values(3, 1),
		[]float64{0, 0, 0}, 0)
}

// TestSteepPriorTrains: at a rate beyond the exponent of the smallest number, every piece that holds s to its prior has
// numbers to train with.
func TestSteepPriorTrains(t *testing.T) {
	for _, hold := range []string{"penalty", "proximal", "retraction"} {
		torch.Test(t, func() {
			s := unsmoothed()
			s.Set("method", "spectrum", "prior_rate", 1000, "spectrum_hold", hold)
			p := config(13, 5, -1)
			o := layer(t, s, p)
			defer release(o, p)
			near(t, hold+": s", o.Embedding().(*Factored).s.Float64s(), []float64{math.Sqrt(13), 0, 0, 0, 0}, 1e-12)
			hidden := torch.NewStream(4, "data").Normal(0, 1, torch.Float64, device, 6, 5)
			loss, _ := o.Loss(torch.States{Hidden: hidden}, torch.FromInt64s([]int64{1, 12, 0, 7, 7, 3}, device, 6), 1)
			loss.Backward()
			o.Penalize()
			torch.SGD(p.Params.Tensors(), 0.1, 0)
			o.Constrain(0.1)
			for _, name := range p.Params.Names() {
				for _, x := range p.Params.Get(name).Float64s() {
					if math.IsNaN(x) || math.IsInf(x, 0) {
						t.Fatalf("%s: an update makes an element of %s %v", hold, name, x)
					}
				}
			}
		})
	}
}

// TestDefaultsOfBothPriors: at its defaults either method starts on its curve, with the same ratio of the smallest to
// the largest singular value and the norm of a dense matrix, and pays the squared distance from there.
func TestDefaultsOfBothPriors(t *testing.T) {
	const v, d = 47, 16
	curves := map[string]func(k, ratio float64) float64{ // over c1, for K = 16
		"spectrum": func(k, ratio float64) float64 {
			return math.Exp(math.Log(ratio) * math.Pow(k, 0.75) / (math.Pow(d, 0.75) - 1))
		},
		"spectrum-poly": func(k, ratio float64) float64 { return math.Pow(k, math.Log(ratio)/math.Log(d)) },
	}
	for method, curve := range curves {
		torch.Test(t, func() {
			s := unsmoothed()
			s.Method = method
			p := config(v, d, -1)
			o := layer(t, s, p)
			defer release(o, p)
			want, energy := make([]float64, d), 0.0
			for i := range want {
				want[i] = curve(float64(i+1), 0.5)
				energy += want[i] * want[i]
			}
			for i := range want {
				// |W|_F^2 of v rows of a dense matrix, whose elements have the variance 1/d
				want[i] *= math.Sqrt(v / energy)
			}
			w := singularValues(o.Embedding()).Float64s()
			near(t, method+": singular values of W", w, want, 1e-10)
			near(t, method+": ratio", []float64{w[d-1] / w[0]}, []float64{0.5}, 1e-10)

			moved(p)
			f := o.Embedding().(*Factored)
			values, squares, slopes := f.s.Float64s(), 0.0, make([]float64, d)
			for i, x := range values {
				squares += (x - want[i]) * (x - want[i])
				slopes[i] = 2 * (x - want[i])
			}
			for _, r := range o.method.Regularizers {
				if r, ok := r.(*SpectrumPrior); ok {
					penalty := r.Penalty()
					penalty.Backward()
					near(t, method+": penalty", penalty.Float64s(), []float64{squares}, 1e-10)
				}
			}
			near(t, method+": gradient of s", gradients(p)["decoder.embed_tokens.s"], slopes, 1e-10)
		})
	}
}
