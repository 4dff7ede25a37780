package measures

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/objectives"
)

// TestFitPrior: a spectrum that a prior gave is given back by it.
func TestFitPrior(t *testing.T) {
	for _, p := range []objectives.Prior{
		{Kind: objectives.Exponential, Scale: 40, Power: 0.75, Ratio: 0.3},
		{Kind: objectives.Exponential, Scale: 179, Power: 0.25, Ratio: 0.15},
		{Kind: objectives.Exponential, Scale: 5, Power: 1, Ratio: 1},
		{Kind: objectives.Polynomial, Scale: 133, Power: 0.75, Ratio: math.Pow(200, -0.75)},
		{Kind: objectives.Polynomial, Scale: 5, Ratio: 1},
		{Kind: objectives.Polynomial, Scale: 7, Power: 0.25, Ratio: math.Pow(200, -0.25)},
	} {
		values := p.Values(200, 0)
		got, spread := FitPrior(p.Kind, values)
		near(t, "values", got.Values(200, 0), values, 1e-9)
		if !(spread < 1e-9) || p.Ratio < 1 && math.Abs(got.Power-p.Power) > 1e-9 || math.Abs(got.Ratio-p.Ratio) > 1e-9 {
			t.Errorf("the fit of %+v is %+v, %g apart", p, got, spread)
		}
	}
	noisy := objectives.Prior{Power: 0.5, Ratio: 0.2, Scale: 9}.Values(100, 0)
	for i := range noisy {
		noisy[i] *= 1 + 0.05*float64(1-i%2*2)
	}
	if _, spread := FitPrior(objectives.Exponential, noisy); math.Abs(spread-0.05) > 5e-3 {
		t.Errorf("values that are off by a twentieth are %g apart from the fit", spread)
	}
	for _, none := range [][]float64{nil, {3}, {2, 0, 0}, {2, 1}, {3, 2, 1, 0}} {
		if p, spread := FitPrior(objectives.Exponential, none); !math.IsNaN(spread) || p.Scale != 0 {
			t.Errorf("%v gives the prior %+v, %g apart", none, p, spread)
		}
	}
	// A power law has no exponential prior with a scale out of all proportion.
	law := objectives.Prior{Kind: objectives.Polynomial, Scale: 133, Power: 0.75}.Values(200, 0)
	if p, _ := FitPrior(objectives.Exponential, law); p.Scale > 1e6 || p.Power < 0.1 {
		t.Errorf("a power law that begins at 133 gets the exponential prior %+v", p)
	}
	// A matrix of less than full rank.
	if p, spread := FitPrior(objectives.Exponential,
		append(objectives.Prior{Power: 0.5, Ratio: 0.2, Scale: 9}.Values(50, 0), 0, 0)); !(spread < 1e-9) ||
		p.Ratio <= 0 {
		t.Errorf("with two values of 0 the prior is %+v, %g apart", p, spread)
	}
}
