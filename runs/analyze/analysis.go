package main

import (
	"fmt"

	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/torch"
)

// Limits that keep a large vocabulary quick; the table says where they cut.
const (
	hubRows    = 10000 // rows whose neighbours are counted
	directions = 256   // random ones for the spread of the partition function
)

// analysis is what was measured of a matrix, as -json prints it; undefined numbers are null there.
type analysis struct {
	Name           string          `json:"name"`
	Vocabulary     int64           `json:"vocabulary"`
	Width          int64           `json:"width"`
	Scale          float64         `json:"scaled_by"`
	IsotropyRows   int64           `json:"isotropy_rows"`    // of a sample for I1 and I2
	Samples        int             `json:"isotropy_samples"` // of these, 1 where they are all rows
	I1             record.Number   `json:"i1"`
	I2             record.Number   `json:"i2"`
	I1BothSigns    record.Number   `json:"i1_both_signs"`
	I2BothSigns    record.Number   `json:"i2_both_signs"`
	MeanCosine     record.Number   `json:"mean_cosine"`
	Frobenius      record.Number   `json:"frobenius"`
	SingularValues []record.Number `json:"singular_values"`
	SigmaRatio     record.Number   `json:"sigma_ratio"`
	Priors         []prior         `json:"priors"`
	EffectiveRank  record.Number   `json:"effective_rank"`
	Spread         record.Number   `json:"partition_spread"`
	Hubness        record.Number   `json:"hubness"`
	HubnessRows    int             `json:"hubness_rows"`
	LargestHub     int             `json:"largest_hub"`
	Hub            record.Text     `json:"hub"` // the word that is most often a neighbour
	NormFrequency  record.Number   `json:"norm_frequency_correlation"`

	PositiveCosines    record.Number   `json:"positive_cosines"`
	IsoScore           record.Number   `json:"iso_score"`
	IsoScoreStar       record.Number   `json:"iso_score_star"` // shrunk to equal variances, by shrinkage
	Shrinkage          float64         `json:"shrinkage"`
	MuNorm             record.Number   `json:"mu_norm"`
	MeanShare          record.Number   `json:"mean_share"`
	RareSeparation     record.Number   `json:"rare_separation"`
	MeanRow            record.Number   `json:"mean_row"`
	Variance           []record.Number `json:"explained_variance"` // by the first components
	For50              int             `json:"components_for_50"`
	For90              int             `json:"components_for_90"`
	For99              int             `json:"components_for_99"`
	ComponentFrequency []record.Number `json:"component_frequency_correlation"`
	MedianNearest      record.Number   `json:"nearest_distance"`
	DensityStep        record.Number   `json:"nearest_density_step"`
	Density            []record.Number `json:"nearest_density"`
	Radius             record.Number   `json:"radius"`
	Recognisable       record.Number   `json:"recognisable"`
	Margins            []margin        `json:"margins"`
	States             *states         `json:"states"`

	norms    []float64
	measures measures.Measures
	points   measures.Points
	ordered  bool // the order of rows stands for frequency
}

// margin is how clearly a word stands out, in the matrix's own scale.
type margin struct {
	Word    string        `json:"word"`
	Radius  record.Number `json:"radius"`
	Nearest record.Number `json:"nearest"`
	Length  record.Number `json:"norm"`
}

// states are the measures of hidden states.
type states struct {
	Count         int           `json:"states"`
	OriginInHull  bool          `json:"origin_in_hull"`
	HullDistance  record.Number `json:"hull_distance"`
	AtLeast       record.Number `json:"hull_distance_at_least"`
	BiasOverGain  record.Number `json:"bias_over_gain"`
	PlaneDistance record.Number `json:"plane_distance"`
	RarePull      record.Number `json:"rare_pull"`
	FrequentPull  record.Number `json:"frequent_pull"`
	Alpha         record.Number `json:"recognised_at"`
	Recognised    record.Number `json:"recognised"`
	MedianMargin  record.Number `json:"margin"`
	IsoScore      record.Number `json:"iso_score"`
	IsoScoreStar  record.Number `json:"iso_score_star"`
	LogitRange    record.Number `json:"logit_range"`
	Rank          int           `json:"softmax_rank"`
	RankLimit     int           `json:"softmax_rank_limit"` // 0 where words have no probabilities
}

// components is how many principal ones have their share and correlation in the result.
const components = 10

// analyse measures a matrix.
func analyse(s *subject, f *flags) *analysis {
	num, m, p := record.Num[float64], measures.Measure(s.w), measures.MeasurePoints(s.w)
	a := &analysis{
		Name: s.name, Vocabulary: s.w.Size(0), Width: s.w.Size(1), Scale: s.scale, Samples: 1,
		IsotropyRows: s.w.Size(0),
		MeanCosine:   num(m.MeanCosine), Frobenius: num(m.Frobenius), SingularValues: record.Nums(m.SingularValues),
		SigmaRatio: num(m.SigmaRatio), EffectiveRank: num(m.EffectiveRank), Priors: priors(m.SingularValues),
		PositiveCosines: num(p.PositiveCosines), IsoScore: num(p.IsoScore), MeanRow: num(p.Components.Mean),
		IsoScoreStar: num(p.Components.ShrunkIsoScore(measures.Shrinkage)),
		Shrinkage:    measures.Shrinkage, MuNorm: num(p.Components.MeanNorm), MeanShare: num(m.MeanShare),
		RareSeparation: num(measures.RareSeparation(s.w, s.counts)),
		For50:          p.Components.Needed(0.5), For90: p.Components.Needed(0.9), For99: p.Components.Needed(0.99),
		MedianNearest: num(p.MedianNearest), DensityStep: num(p.Nearest.Step), Density: record.Nums(p.Nearest.Values),
		Radius: num(p.MedianRadius), Recognisable: num(p.Recognisable),
		norms: measures.RowNorms(s.w), measures: m, points: p, ordered: s.ordered,
	}
	i := m.Isotropy
	if n := int64(f.Rows); n > 0 && n < a.Vocabulary {
		a.IsotropyRows, a.Samples = n, f.Samples
		i = measures.SampledIsotropy(s.w, n, f.Samples, torch.NewStream(f.Seed, "rows"))
	}
	a.I1, a.I2, a.I1BothSigns, a.I2BothSigns = num(i.I1), num(i.I2), num(i.I1BothSigns), num(i.I2BothSigns)
	a.Spread = num(measures.PartitionSpread(s.w, directions, torch.NewStream(f.Seed, "directions")))
	h := measures.MeasureHubness(s.w, measures.NearestRows, hubRows)
	a.Hubness, a.HubnessRows, a.LargestHub = num(h.Skewness), h.Rows, h.Largest
	if h.Hub >= 0 {
		a.Hub = record.Text(s.word(int(h.Hub)))
	}
	a.NormFrequency = num(measures.RankCorrelation(a.norms, s.counts))
	shares := p.Components.Shares()
	a.Variance = record.Nums(shares[:min(components, len(shares))])
	for _, scores := range p.Components.Scores(s.w, components) {
		a.ComponentFrequency = append(a.ComponentFrequency, num(measures.RankCorrelation(scores, s.counts)))
	}
	for _, m := range p.Margins {
		a.Margins = append(a.Margins, margin{s.word(int(m.Row)), num(m.Radius), num(m.Nearest), num(m.Length)})
	}
	if c := s.contexts; c != nil {
		a.States = &states{c.States, c.Hull.Contains(1), num(c.Hull.Distance), num(c.Hull.AtLeast),
			num(c.BiasOverGain), num(c.PlaneDistance), num(c.RarePull), num(c.FrequentPull),
			num(measures.RecognisedAt), num(c.Recognised), num(c.MedianMargin), num(c.IsoScore), num(c.IsoScoreStar),
			num(c.LogitRange), c.Rank, c.RankLimit}
	}
	return a
}

// planes are the words in the plane of the two leading directions, and of the first two principal components: at most
// that number of each class of frequency.
func (s *subject) planes(a *analysis, most int) (plain, centred report.Plane) {
	found, order := a.measures.Project(s.w), s.order()
	plain = report.NewPlane(found.X, found.Y, found.Shares, order, most)
	scores, shares := a.points.Components.Scores(s.w, 2), a.points.Components.Shares()
	if len(scores) > 1 && len(shares) > 1 {
		centred = report.NewPlane(scores[0], scores[1], [2]float64(shares), order, most)
	}
	return plain, centred
}

// picture is what the pictures show of a matrix.
func (s *subject) picture(a *analysis) picture {
	p := picture{
		name: s.name, singularValues: a.measures.SingularValues, cosines: measures.CosineHistogram(s.w), norms: a.norms,
		order:   s.order(),
		nearest: a.points.Nearest.Values, variances: a.points.Components.Shares(),
	}
	if s.scale != 1 {
		p.name = fmt.Sprintf("%s, times %.3g", s.name, s.scale)
	}
	p.plain, p.centred = s.planes(a, 2000)
	return p
}
