package main

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// prior is that of spectrum control which comes nearest to the singular values of a
// matrix, by its keys under [objective].
type prior struct {
	Kind   string        `json:"prior"`
	Scale  record.Number `json:"prior_scale"`
	Power  record.Number `json:"prior_power"`
	Ratio  record.Number `json:"prior_ratio"`
	Spread record.Number `json:"spread"` // root mean square of the differences of logarithms
}

// priors are the nearest of each kind; none, where there are too few values to tell.
func priors(falling []float64) []prior {
	all := []prior{}
	for _, k := range []struct {
		name string
		kind objectives.PriorKind
	}{{"exponential", objectives.Exponential}, {"polynomial", objectives.Polynomial}} {
		fit, spread := measures.FitPrior(k.kind, falling)
		if math.IsNaN(spread) {
			continue
		}
		num := record.Num[float64]
		all = append(all, prior{Kind: k.name, Scale: num(fit.Scale), Power: num(fit.Power), Ratio: num(fit.Ratio),
			Spread: num(spread)})
	}
	return all
}

// flags are what a training command takes to hold a spectrum to the prior. The ratio gives a polynomial's power.
func (p prior) flags() string {
	s := fmt.Sprintf("-set=objective.prior_scale=%.4g -set=objective.prior_ratio=%.4g", p.Scale.Value(),
		p.Ratio.Value())
	if p.Kind == "exponential" {
		s += fmt.Sprintf(" -set=objective.prior_power=%.4g", p.Power.Value())
	}
	return s
}
