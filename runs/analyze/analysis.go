package main

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/torch"
)

// Limits that keep a large vocabulary quick; the table says where they cut.
const (
	hubRows    = 10000 // rows whose neighbours are counted
	directions = 256   // random ones for the spread of the partition function
)

// analysis is what was measured of a matrix.
type analysis struct {
	name          string
	rows, width   int64
	scale         float64
	measures      measures.Measures
	isotropyRows  int64 // rows of a sample for I1 and I2
	samples       int   // of so many rows, 1 where they are all
	spread        float64
	hubness       measures.Hubness
	hub           string // the word that is most often a neighbour
	normFrequency float64
	priors        []prior
	norms         []float64
	ordered       bool // the order of rows stands for frequency
}

// analyse measures a matrix.
func analyse(s *subject, f *flags) *analysis {
	a := &analysis{name: s.name, rows: s.w.Size(0), width: s.w.Size(1), scale: s.scale, samples: 1, ordered: s.ordered}
	a.measures = measures.Measure(s.w)
	a.isotropyRows = a.rows
	if n := int64(f.rows); n > 0 && n < a.rows {
		a.isotropyRows, a.samples = n, f.samples
		a.measures.Isotropy = measures.SampledIsotropy(s.w, n, f.samples, torch.NewStream(f.seed, "rows"))
	}
	a.priors = priors(a.measures.SingularValues)
	a.spread = measures.PartitionSpread(s.w, directions, torch.NewStream(f.seed, "directions"))
	a.hubness = measures.MeasureHubness(s.w, measures.NearestRows, hubRows)
	if a.hubness.Hub >= 0 {
		a.hub = s.word(int(a.hubness.Hub))
	}
	a.norms = measures.RowNorms(s.w)
	a.normFrequency = measures.RankCorrelation(a.norms, s.counts)
	return a
}

// picture is what the pictures show of a matrix.
func (s *subject) picture(a *analysis) report.Matrix {
	p, name := a.measures.Project(s.w), s.name
	if s.scale != 1 {
		name = fmt.Sprintf("%s, times %.3g", name, s.scale)
	}
	return report.Matrix{
		Name: name, SingularValues: a.measures.SingularValues, Cosines: measures.CosineHistogram(s.w),
		X: p.X, Y: p.Y, Shares: p.Shares, Norms: a.norms, Ranks: s.ranks(),
	}
}

// MarshalJSON writes the measures by their names; undefined ones are null.
func (a *analysis) MarshalJSON() ([]byte, error) {
	m, num := a.measures, experiment.Num[float64]
	return json.Marshal(struct {
		Name           string              `json:"name"`
		Vocabulary     int64               `json:"vocabulary"`
		Width          int64               `json:"width"`
		Scale          float64             `json:"scaled_by"`
		IsotropyRows   int64               `json:"isotropy_rows"`
		Samples        int                 `json:"isotropy_samples"`
		I1             experiment.Number   `json:"i1"`
		I2             experiment.Number   `json:"i2"`
		I1BothSigns    experiment.Number   `json:"i1_both_signs"`
		I2BothSigns    experiment.Number   `json:"i2_both_signs"`
		MeanCosine     experiment.Number   `json:"mean_cosine"`
		Frobenius      experiment.Number   `json:"frobenius"`
		SingularValues []experiment.Number `json:"singular_values"`
		SigmaRatio     experiment.Number   `json:"sigma_ratio"`
		Priors         []prior             `json:"priors"`
		EffectiveRank  experiment.Number   `json:"effective_rank"`
		Spread         experiment.Number   `json:"partition_spread"`
		Hubness        experiment.Number   `json:"hubness"`
		HubnessRows    int                 `json:"hubness_rows"`
		LargestHub     int                 `json:"largest_hub"`
		Hub            experiment.Text     `json:"hub"`
		NormFrequency  experiment.Number   `json:"norm_frequency_correlation"`
	}{
		a.name, a.rows, a.width, a.scale, a.isotropyRows, a.samples, num(m.I1), num(m.I2), num(m.I1BothSigns), num(m.I2BothSigns),
		num(m.MeanCosine), num(m.Frobenius), experiment.Nums(m.SingularValues), num(m.SigmaRatio), a.priors, num(m.EffectiveRank), num(a.spread),
		num(a.hubness.Skewness), a.hubness.Rows, a.hubness.Largest, experiment.Text(a.hub), num(a.normFrequency),
	})
}

// median is the middle one of falling values.
func median(falling []float64) float64 {
	if len(falling) == 0 {
		return math.NaN()
	}
	return falling[len(falling)/2]
}
