package report

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Matrix is what the pictures show of a matrix of word vectors.
type Matrix struct {
	Name           string
	SingularValues []float64 // falling
	Cosines        []float64 // counts of the cosines between rows, in bins of equal width over [-1, 1]
	Nearest        []float64 // density of the distance to the nearest row, over the root mean square of norms, in bins of equal width over [0, 2]
	Variances      []float64 // shares of the variance along the principal components, falling

	// By row:
	X, Y   []float64   // coordinates on the two leading right singular vectors
	Shares [2]float64  // of the sum of squares along these
	Scores [][]float64 // coordinates on the principal components, by component; their shares are Variances
	Norms  []float64
	Ranks  []float64 // by falling frequency, from 1; NaN for rows that stand for no word
}

// DrawMatrices draws the pictures that compare matrices of word vectors: singular values, cosines, a projection of each, and
// norm against frequency.
func DrawMatrices(all []Matrix) ([]Plot, error) {
	var plots []Plot
	for _, kind := range []struct {
		name, title string
		draw        func([]Matrix) ([]byte, error)
	}{
		{"analysis_singular_values.png", "Singular values", compareSpectra},
		{"analysis_cosines.png", "Cosine between rows", compareCosines},
		{"analysis_nearest.png", "Distance to the nearest row", compareNearest},
		{"analysis_projection.png", "Projection", compareProjections},
		{"analysis_components.png", "Principal components", compareComponents},
		{"analysis_norms.png", "Norm against frequency", compareNorms},
	} {
		png, err := kind.draw(all)
		if err != nil {
			return nil, fmt.Errorf("plot %s: %w", kind.name, err)
		}
		if png != nil {
			plots = append(plots, Plot{kind.name, kind.title, png})
		}
	}
	return plots, nil
}

// hues are the colours of matrices; those after the last are drawn in the same ones with dashes.
var hues = []color.Color{blue, orange, green, purple, sky, amber, black}

func hue(i int) color.Color { return hues[i%len(hues)] }

// dash tells a line from those before it that have its colour.
func dash(line *plotter.Line, i int) {
	if round := vg.Length(i / len(hues)); round > 0 && line != nil {
		line.Dashes = []vg.Length{4 * round, 2}
	}
}

// compareSpectra draws the singular values by rank, as they are and relative to the largest, and what the first principal components
// hold of the variance.
func compareSpectra(all []Matrix) ([]byte, error) {
	values := newPanel("Singular values", "rank k", "singular value (log scale)", true)
	decay := newPanel("Singular values relative to the largest", "rank k", "share of the largest (log scale)", true)
	variances := newPanel("Variance along the first principal components", "components", "share", false)
	any := false
	for i, m := range all {
		if len(m.SingularValues) == 0 || !(m.SingularValues[0] > 0) {
			continue
		}
		relative := make([]float64, len(m.SingularValues))
		for k, s := range m.SingularValues {
			relative[k] = s / m.SingularValues[0]
		}
		for _, draw := range []struct {
			p  *panel
			ys []float64
		}{{values, m.SingularValues}, {decay, relative}, {variances, floats.CumSum(make([]float64, len(m.Variances)), m.Variances)}} {
			line, err := draw.p.addLine(m.Name, firstRanks(len(draw.ys)), draw.ys, hue(i), false)
			if err != nil {
				return nil, err
			}
			dash(line, i)
		}
		any = true
	}
	if !any {
		return nil, nil
	}
	return render([]*panel{values, decay, variances}, 720, 320)
}

// compareCosines draws the distributions of the cosine between two rows.
func compareCosines(all []Matrix) ([]byte, error) {
	p := newPanel("Cosine between two rows", "cosine", "density", false)
	low, high, err := p.addDensities(all, func(m Matrix) Histogram { return HistogramOfCounts(m.Cosines, -1, 1) })
	if err != nil || low > high {
		return nil, err
	}
	p.showCosines(low, high)
	return render([]*panel{p}, 720, 340)
}

// compareNearest draws the distributions of the distance to the nearest row (D. Wang, Gong and Liu 2019, figure 1a).
func compareNearest(all []Matrix) ([]byte, error) {
	p := newPanel("Distance to the nearest row", "distance / root mean square of the norms", "density", false)
	low, high, err := p.addDensities(all, func(m Matrix) Histogram { return HistogramOfCounts(m.Nearest, 0, 2) })
	if err != nil || low > high {
		return nil, err
	}
	p.X.Min, p.X.Max, p.Y.Min = max(0, low-0.05), high+0.05, 0
	return render([]*panel{p}, 720, 340)
}

// addDensities adds a histogram of each matrix that has one, and returns outside of what nobody would see them; low > high of none.
func (p *panel) addDensities(all []Matrix, of func(Matrix) Histogram) (low, high float64, err error) {
	low, high = math.Inf(1), math.Inf(-1)
	for i, m := range all {
		line, from, to, err := p.addDensity(m.Name, of(m), hue(i))
		if err != nil {
			return low, high, err
		}
		dash(line, i)
		if line != nil {
			low, high = min(low, from), max(high, to)
		}
	}
	return low, high, nil
}

// The classes of frequency in a projection: ranks up to 10, 100 and so on, and their colours, dark for frequent words.
var (
	frequencyEdges  = []float64{10, 100, 1000, 10000, math.Inf(1)}
	frequencyColors = []color.Color{color.RGBA{0, 0, 0, 255}, color.RGBA{90, 15, 110, 255}, color.RGBA{188, 55, 84, 255}, color.RGBA{249, 142, 9, 255}, color.RGBA{150, 205, 190, 255}}
)

// dotsPerClass is how many words of a class are drawn at most: more would hide each other.
const dotsPerClass = 2000

// compareProjections draws the words of each matrix in the plane of its two leading directions, coloured by frequency, on
// axes of one scale.
func compareProjections(all []Matrix) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	rarest := 0.0
	for _, m := range all {
		for _, rank := range m.Ranks {
			if rank > rarest {
				rarest = rank
			}
		}
	}
	columns := min(3, len(all))
	var panels []*panel
	x, y := [2]float64{}, [2]float64{}
	for i, m := range all {
		p := newPanel(m.Name, fmt.Sprintf("first direction (%.1f %% of the squares)", 100*m.Shares[0]),
			fmt.Sprintf("second direction (%.1f %% of the squares)", 100*m.Shares[1]), false)
		if err := p.addWords(m, rarest, i == columns-1); err != nil {
			return nil, err
		}
		panels = append(panels, p)
		x = [2]float64{min(x[0], p.X.Min), max(x[1], p.X.Max)}
		y = [2]float64{min(y[0], p.Y.Min), max(y[1], p.Y.Max)}
	}
	for _, p := range panels {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x[0], x[1], y[0], y[1]
	}
	return renderGrid(panels, columns, 560, 400)
}

// compareComponents draws the same on the first two principal components: less their mean, rows do not lie to one side.
func compareComponents(all []Matrix) ([]byte, error) {
	var centred []Matrix
	for _, m := range all {
		if len(m.Scores) > 1 && len(m.Variances) > 1 {
			m.X, m.Y, m.Shares = m.Scores[0], m.Scores[1], [2]float64(m.Variances)
			m.Name += ", less the mean row"
			centred = append(centred, m)
		}
	}
	return compareProjections(centred)
}

// addWords adds the dots of a matrix, frequent words over rare ones, and a square at the zero vector. The legend, where asked
// for, has the classes of all ranks up to the rarest.
func (p *panel) addWords(m Matrix, rarest float64, legend bool) error {
	classes := make([]plotter.XYs, len(frequencyEdges))
	for i, rank := range m.Ranks {
		if !math.IsNaN(rank) {
			class, _ := slices.BinarySearch(frequencyEdges, rank)
			classes[class] = append(classes[class], plotter.XY{X: m.X[i], Y: m.Y[i]})
		}
	}
	style := func(class int) draw.GlyphStyle {
		radius := 1.2 + 0.35*float64(len(classes)-1-class)
		return draw.GlyphStyle{Color: frequencyColors[class], Radius: vg.Points(radius), Shape: draw.CircleGlyph{}}
	}
	low := 1.0
	for class, high := range frequencyEdges {
		if legend && low <= rarest {
			p.legend.Add(fmt.Sprintf("rank %.0f to %.0f", low, min(high, rarest)), &plotter.Scatter{GlyphStyle: style(class)})
		}
		low = high + 1
	}
	for class := len(classes) - 1; class >= 0; class-- {
		if len(classes[class]) == 0 {
			continue
		}
		dots, err := plotter.NewScatter(thin(classes[class], dotsPerClass))
		if err != nil {
			return err
		}
		dots.GlyphStyle = style(class)
		p.Add(dots)
	}
	zero, err := plotter.NewScatter(plotter.XYs{{}})
	if err != nil {
		return err
	}
	zero.GlyphStyle = draw.GlyphStyle{Color: sky, Radius: vg.Points(4), Shape: draw.BoxGlyph{}}
	p.Add(zero)
	if legend {
		p.legend.Add("zero vector", zero)
	}
	return nil
}

// thin keeps at most n points, at equal distances in their order.
func thin(points plotter.XYs, n int) plotter.XYs {
	if len(points) <= n {
		return points
	}
	kept := make(plotter.XYs, n)
	for i := range kept {
		kept[i] = points[i*len(points)/n]
	}
	return kept
}

// compareNorms draws the norm of rows against their frequency: the median of rows of like rank, and where eight in ten lie.
func compareNorms(all []Matrix) ([]byte, error) {
	p := newPanel("Norm against frequency: median, and dashed the lowest and highest tenth", "frequency rank (log scale)", "norm of the row", false)
	p.X.Tick.Marker = plot.TickerFunc(LogTicks)
	any := false
	for i, m := range all {
		ranks, bands := normBands(m.Ranks, m.Norms)
		if len(ranks) == 0 {
			continue
		}
		line, err := p.addLine(m.Name, ranks, bands[1], hue(i), false)
		if err != nil {
			return nil, err
		}
		dash(line, i)
		for _, band := range [][]float64{bands[0], bands[2]} {
			points := make(plotter.XYs, len(ranks))
			for k := range points {
				points[k] = plotter.XY{X: ranks[k], Y: band[k]}
			}
			edge, err := plotter.NewLine(points)
			if err != nil {
				return nil, err
			}
			edge.Color, edge.Width, edge.Dashes = hue(i), vg.Points(0.7), []vg.Length{2, 2}
			p.Add(edge)
		}
		any = true
	}
	if !any {
		return nil, nil
	}
	p.Y.Min, p.Y.Max = 0, 1.05*p.Y.Max
	return render([]*panel{p}, 720, 360)
}

// normBands gives, for groups of rows of like frequency, the decimal logarithm of their mean rank and the tenth, fifth and
// ninth tenth of their norms. A group spans a twentieth of a decade of ranks, and at least ten rows.
func normBands(ranks, norms []float64) (at []float64, bands [3][]float64) {
	var rows []int
	for i, rank := range ranks {
		if !math.IsNaN(rank) {
			rows = append(rows, i)
		}
	}
	slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(ranks[i], ranks[j]) })
	for start := 0; start < len(rows); {
		end := start
		for end < len(rows) && (end-start < 10 || ranks[rows[end]] < ranks[rows[start]]*math.Pow(10, 0.05)) {
			end++
		}
		if len(rows)-end < 10 { // what is left is no group of its own
			end = len(rows)
		}
		var group []float64
		logs := 0.0
		for _, i := range rows[start:end] {
			group = append(group, norms[i])
			logs += math.Log10(ranks[i]) / float64(end-start)
		}
		slices.Sort(group)
		at = append(at, logs)
		for b, quantile := range []float64{0.1, 0.5, 0.9} {
			bands[b] = append(bands[b], group[int(quantile*float64(len(group)-1)+0.5)])
		}
		start = end
	}
	return at, bands
}
