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
	samples       int   // of the given number of rows, 1 where they are all
	spread        float64
	hubness       measures.Hubness
	hub           string // the word that is most often a neighbour
	normFrequency float64
	priors        []prior
	norms         []float64
	ordered       bool // the order of rows stands for frequency

	points             measures.Points
	margins            []margin
	componentFrequency []float64 // rank correlation of the first components' scores with frequency
	contexts           *measures.ContextMeasures
}

// margin is how clearly a word stands out, in the matrix's own scale.
type margin struct {
	Word    string            `json:"word"`
	Radius  experiment.Number `json:"radius"`
	Nearest experiment.Number `json:"nearest"`
	Length  experiment.Number `json:"norm"`
}

// components are so many principal ones whose share and correlation are told.
const components = 10

// analyse measures a matrix.
func analyse(s *subject, f *flags) *analysis {
	a := &analysis{name: s.name, rows: s.w.Size(0), width: s.w.Size(1), scale: s.scale, samples: 1, ordered: s.ordered}
	a.measures = measures.Measure(s.w)
	a.isotropyRows = a.rows
	if n := int64(f.Rows); n > 0 && n < a.rows {
		a.isotropyRows, a.samples = n, f.Samples
		a.measures.Isotropy = measures.SampledIsotropy(s.w, n, f.Samples, torch.NewStream(f.Seed, "rows"))
	}
	a.priors = priors(a.measures.SingularValues)
	a.spread = measures.PartitionSpread(s.w, directions, torch.NewStream(f.Seed, "directions"))
	a.hubness = measures.MeasureHubness(s.w, measures.NearestRows, hubRows)
	if a.hubness.Hub >= 0 {
		a.hub = s.word(int(a.hubness.Hub))
	}
	a.norms = measures.RowNorms(s.w)
	a.normFrequency = measures.RankCorrelation(a.norms, s.counts)
	a.points = measures.MeasurePoints(s.w)
	for _, scores := range a.points.Components.Scores(s.w, components) {
		a.componentFrequency = append(a.componentFrequency, measures.RankCorrelation(scores, s.counts))
	}
	for _, m := range a.points.Margins {
		a.margins = append(a.margins, margin{s.word(int(m.Row)), experiment.Num(m.Radius), experiment.Num(m.Nearest), experiment.Num(m.Length)})
	}
	a.contexts = s.contexts
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
		Scores: a.points.Components.Scores(s.w, 2), Nearest: a.points.Nearest.Values, Variances: a.points.Components.Shares(),
	}
}

// MarshalJSON writes the measures by their names; undefined ones are null.
func (a *analysis) MarshalJSON() ([]byte, error) {
	m, p, num := a.measures, a.points, experiment.Num[float64]
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

		PositiveCosines    experiment.Number   `json:"positive_cosines"`
		IsoScore           experiment.Number   `json:"iso_score"`
		MeanRow            experiment.Number   `json:"mean_row"`
		Variance           []experiment.Number `json:"explained_variance"`
		For50              int                 `json:"components_for_50"`
		For90              int                 `json:"components_for_90"`
		For99              int                 `json:"components_for_99"`
		ComponentFrequency []experiment.Number `json:"component_frequency_correlation"`
		MedianNearest      experiment.Number   `json:"nearest_distance"`
		DensityStep        experiment.Number   `json:"nearest_density_step"`
		Density            []experiment.Number `json:"nearest_density"`
		Radius             experiment.Number   `json:"radius"`
		Recognisable       experiment.Number   `json:"recognisable"`
		Margins            []margin            `json:"margins"`
		States             *jsonStates         `json:"states"`
	}{
		a.name, a.rows, a.width, a.scale, a.isotropyRows, a.samples, num(m.I1), num(m.I2), num(m.I1BothSigns), num(m.I2BothSigns),
		num(m.MeanCosine), num(m.Frobenius), experiment.Nums(m.SingularValues), num(m.SigmaRatio), a.priors, num(m.EffectiveRank), num(a.spread),
		num(a.hubness.Skewness), a.hubness.Rows, a.hubness.Largest, experiment.Text(a.hub), num(a.normFrequency),
		num(p.PositiveCosines), num(p.IsoScore), num(p.Components.Mean), experiment.Nums(first(p.Components.Shares())),
		p.Components.Needed(0.5), p.Components.Needed(0.9), p.Components.Needed(0.99), experiment.Nums(a.componentFrequency),
		num(p.MedianNearest), num(p.Nearest.Step), experiment.Nums(p.Nearest.Values), num(p.MedianRadius), num(p.Recognisable), a.margins, a.states(),
	})
}

// jsonStates are the measures of hidden states.
type jsonStates struct {
	States        int               `json:"states"`
	OriginInHull  bool              `json:"origin_in_hull"`
	HullDistance  experiment.Number `json:"hull_distance"`
	AtLeast       experiment.Number `json:"hull_distance_at_least"`
	BiasOverGain  experiment.Number `json:"bias_over_gain"`
	PlaneDistance experiment.Number `json:"plane_distance"`
	RarePull      experiment.Number `json:"rare_pull"`
	FrequentPull  experiment.Number `json:"frequent_pull"`
	Alpha         experiment.Number `json:"recognised_at"`
	Recognised    experiment.Number `json:"recognised"`
	MedianMargin  experiment.Number `json:"margin"`
}

func (a *analysis) states() *jsonStates {
	c, num := a.contexts, experiment.Num[float64]
	if c == nil {
		return nil
	}
	return &jsonStates{c.States, c.Hull.Contains(1), num(c.Hull.Distance), num(c.Hull.AtLeast), num(c.BiasOverGain), num(c.PlaneDistance),
		num(c.RarePull), num(c.FrequentPull), num(measures.RecognisedAt), num(c.Recognised), num(c.MedianMargin)}
}

// first are the shares of the first components.
func first(shares []float64) []float64 { return shares[:min(components, len(shares))] }

// median is the middle one of falling values.
func median(falling []float64) float64 {
	if len(falling) == 0 {
		return math.NaN()
	}
	return falling[len(falling)/2]
}
