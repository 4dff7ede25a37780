package main

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
)

// prior is that of spectrum control which comes nearest to the singular values of a
// matrix, by its keys under [objective].
type prior struct {
	Kind   string             `json:"prior"`
	Scale  experiment.Number  `json:"prior_scale"`
	Power  experiment.Number  `json:"prior_power"`
	Ratio  *experiment.Number `json:"prior_ratio,omitempty"` // exponential only
	Spread experiment.Number  `json:"spread"`                // root mean square of the differences of logarithms
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
		p := prior{Kind: k.name, Scale: experiment.Num(fit.Scale), Power: experiment.Num(fit.Power), Spread: experiment.Num(spread)}
		if k.kind == objectives.Exponential {
			ratio := experiment.Num(fit.Ratio)
			p.Ratio = &ratio
		}
		all = append(all, p)
	}
	return all
}

// flags are what a training command takes to hold a spectrum to the prior.
func (p prior) flags() string {
	s := fmt.Sprintf("-set=objective.prior_scale=%.4g -set=objective.prior_power=%.4g", p.Scale.Value(), p.Power.Value())
	if p.Ratio != nil {
		s += fmt.Sprintf(" -set=objective.prior_ratio=%.4g", p.Ratio.Value())
	}
	return s
}
