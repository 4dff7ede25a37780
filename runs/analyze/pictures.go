package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/runs/internal/chart"
	"github.com/aperture-ml/aperture/runs/internal/report"
)

// picture is what the pictures show of a matrix of word vectors.
type picture struct {
	name           string
	singularValues []float64 // falling
	cosines        []float64 // counts of the cosines between rows, in bins of equal width over [-1, 1]
	nearest        []float64 // density of the distance to the nearest row over the norms' rms, in bins over [0, 2]
	variances      []float64 // shares of the variance along the principal components, falling
	plain, centred report.Plane
	norms          []float64 // of the rows
	order          []int     // of the rows that stand for words, by falling frequency
}

// draw draws the pictures that compare matrices: singular values, cosines, nearest rows, projections, and norm against
// frequency.
func draw(all []picture) []chart.Plot {
	return slices.Concat(spectra(all), densities(all), projections(all), normsByRank(all))
}

// spectra are the singular values by rank, as they are and relative to the largest, and what the first principal
// components hold of the variance.
func spectra(all []picture) []chart.Plot {
	values := chart.New("Singular values", "rank k", "singular value")
	decay := chart.New("Singular values relative to the largest", "rank k", "share of the largest")
	variances := chart.New("Variance along the first principal components", "components", "share")
	values.Y.Log, decay.Y.Log = true, true
	for i, m := range all {
		if len(m.singularValues) == 0 || !(m.singularValues[0] > 0) {
			continue
		}
		relative := slices.Clone(m.singularValues)
		floats.Scale(1/relative[0], relative)
		for c, ys := range map[*chart.Chart][]float64{values: m.singularValues, decay: relative,
			variances: floats.CumSum(make([]float64, len(m.variances)), m.variances)} {
			c.Add(chart.Series{Name: m.name, X: chart.Steps(len(ys), 1, 1), Y: ys}.Numbered(i))
		}
	}
	return chart.Draw("analysis_singular_values.png", "Singular values", 1, values, decay, variances)
}

// densities are the distributions of the cosine between two rows, and of the distance to the nearest row (D. Wang, Gong
// and Liu 2019, figure 1a).
func densities(all []picture) []chart.Plot {
	cosines := chart.New("Cosine between two rows", "cosine", "density")
	nearest := chart.New("Distance to the nearest row", "distance / root mean square of the norms", "density")
	cosines.Y.Reach, nearest.Y.Reach = []float64{0}, []float64{0}
	for i, m := range all {
		cosines.Add(report.CosineDensity(m.name, m.cosines).Numbered(i))
		nearest.Add(chart.Density(m.name, m.nearest, 0, 2).Numbered(i))
	}
	return append(chart.Draw("analysis_cosines.png", cosines.Title, 1, cosines),
		chart.Draw("analysis_nearest.png", nearest.Title, 1, nearest)...)
}

// projections are the words of each matrix in the plane of its two leading directions, and of its first two principal
// components, all on axes of one scale.
func projections(all []picture) (plots []chart.Plot) {
	for _, kind := range []struct {
		file, title, more string
		of                func(m picture) report.Plane
	}{
		{"analysis_projection.png", "Projection", "", func(m picture) report.Plane { return m.plain }},
		{"analysis_components.png", "Principal components", ", less the mean row",
			func(m picture) report.Plane { return m.centred }},
	} {
		var charts []*chart.Chart
		var xs, ys []float64
		for _, m := range all {
			if plane := kind.of(m); plane.X != nil {
				xs, ys = append(xs, plane.X...), append(ys, plane.Y...)
				charts = append(charts, plane.Chart(m.name+kind.more))
			}
		}
		for _, c := range charts {
			c.Square, c.X.Reach, c.Y.Reach = false, xs, ys
		}
		plots = append(plots, chart.Draw(kind.file, kind.title, min(3, len(charts)), charts...)...)
	}
	return plots
}

// normsByRank is the norm of rows against their frequency: the median of rows of like rank, and where eight in ten lie.
func normsByRank(all []picture) []chart.Plot {
	c := chart.New("Norm against frequency: median, and where eight in ten lie", "frequency rank", "norm of the row")
	c.X.Log, c.Y.Reach = true, []float64{0}
	for i, m := range all {
		at, bands := normBands(m.order, m.norms)
		c.Add(chart.Series{Name: m.name, X: at, Y: bands[1], Low: bands[0], High: bands[2]}.Numbered(i))
	}
	return chart.Draw("analysis_norms.png", "Norm against frequency", 1, c)
}

// normBands gives, for groups of rows of like frequency, the geometric mean of their ranks and the tenth, fifth and
// ninth tenth of their norms. A group spans a twentieth of a decade of ranks, and at least ten rows. order lists the
// rows by falling frequency.
func normBands(order []int, norms []float64) (at []float64, bands [3][]float64) {
	for start := 0; start < len(order); {
		end := start
		for end < len(order) && (end-start < 10 || float64(end+1) < float64(start+1)*math.Pow(10, 0.05)) {
			end++
		}
		if len(order)-end < 10 { // what is left is no group of its own
			end = len(order)
		}
		var group []float64
		for _, row := range order[start:end] {
			group = append(group, norms[row])
		}
		slices.Sort(group)
		at = append(at, stat.GeometricMean(chart.Steps(end-start, float64(start+1), 1), nil))
		for b, quantile := range []float64{0.1, 0.5, 0.9} {
			bands[b] = append(bands[b], group[int(quantile*float64(len(group)-1)+0.5)])
		}
		start = end
	}
	return at, bands
}
