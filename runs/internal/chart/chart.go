package chart

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/aperture-ml/aperture/internal/files"
)

// Largest is the largest size of a number that is drawn: the width of an axis has to be a number too.
const Largest = 1e300

// Axis is one of a chart's two.
type Axis struct {
	Label  string
	Log    bool
	Reach  []float64 // numbers that the axis reaches at least; positive ones where it is logarithmic
	Places []string  // names of the places 0, 1, 2, ..., in place of numbers
}

// Kind is how a series is drawn.
type Kind int

// Kinds of series.
const (
	Line  Kind = iota // points joined, with dots where they are few
	Stair             // Y[i] from X[i] to X[i+1]; X has one more
	Dots              // points alone
)

// Series is one curve, or one cloud of points.
type Series struct {
	Name      string // in the legend, once for each name; empty: not in it
	Colour    color.RGBA
	Dashes    int // how many lines before it have nearly its colour
	Kind      Kind
	X, Y      []float64
	Low, High []float64 // of a band around a line, or nil
	Size      float64   // radius of dots in points; 0 is 2
	Shape     int       // of dots alone: circles, triangles, squares, crosses, rings, and so on again
}

// Chart is a set of series on two axes.
type Chart struct {
	Title         string
	Bands         string // what lines and bands are, below the title of a chart with a band
	X, Y          Axis
	Width, Height float64 // in points, without a legend
	Square        bool    // a unit is as long on both axes
	series        []Series
}

// New returns an empty chart of the usual size with the labels of its axes.
func New(title, x, y string) *Chart {
	return &Chart{Title: title, X: Axis{Label: x}, Y: Axis{Label: y}, Width: 480, Height: 300}
}

// Add adds a series; later ones lie over earlier ones.
func (c *Chart) Add(s Series) { c.series = append(c.series, s) }

// Empty says whether there is nothing to draw.
func (c *Chart) Empty() bool {
	for _, s := range c.series {
		if len(c.points(s.X, s.Y)) > 0 {
			return false
		}
	}
	return true
}

// Drawn are the charts that are not empty.
func Drawn(charts ...*Chart) (drawn []*Chart) {
	for _, c := range charts {
		if !c.Empty() {
			drawn = append(drawn, c)
		}
	}
	return drawn
}

// Hues is how many colours differ clearly.
const Hues = 7

// hues are Okabe and Ito's colours, which stay apart for colour-blind readers.
var hues = [Hues]color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255},
	{86, 180, 233, 255},
	{40, 40, 40, 255},
}

// shapes are those of dots.
var shapes = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.TriangleGlyph{}, draw.SquareGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{},
}

// Hue is the colour with a number. Those after the last hue look like it again, but no two are equal: a page finds what
// is drawn for a row by its colour.
func Hue(i int) color.RGBA {
	c := hues[i%Hues]
	c.G += uint8(i / Hues)
	return c
}

// CSS is a colour as the SVG has it.
func CSS(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// Numbered gives a series the colour with a number, and dashes where others have nearly that colour.
func (s Series) Numbered(i int) Series {
	s.Colour, s.Dashes = Hue(i), i/Hues
	return s
}

// Density is a staircase of area one over bins of equal width from low to high, without the ends that nobody would see.
// It has no points where nothing was counted.
func Density(name string, counts []float64, low, high float64) Series {
	s := Series{Name: name, Kind: Stair}
	total := floats.Sum(counts)
	if !(total > 0) {
		return s
	}
	from, to, least := 0, len(counts), 0.002*floats.Max(counts)
	for from < to-1 && counts[from] < least {
		from++
	}
	for to-1 > from && counts[to-1] < least {
		to--
	}
	width := (high - low) / float64(len(counts))
	s.X = Steps(to-from+1, low+float64(from)*width, width)
	for _, count := range counts[from:to] {
		s.Y = append(s.Y, count/total/width)
	}
	return s
}

// Steps are n numbers from first on, step apart.
func Steps(n int, first, step float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = first + float64(i)*step
	}
	return all
}

// place is where a number stands on the axis; NaN for one that cannot be drawn.
func (a *Axis) place(x float64) float64 {
	if a.Log {
		x = math.Log10(x)
	}
	if !(math.Abs(x) <= Largest) {
		return math.NaN()
	}
	return x
}

// points are those that can be drawn. xs may be longer than ys.
func (c *Chart) points(xs, ys []float64) (all plotter.XYs) {
	for i := range ys {
		if p := (plotter.XY{X: c.X.place(xs[i]), Y: c.Y.place(ys[i])}); !math.IsNaN(p.X + p.Y) {
			all = append(all, p)
		}
	}
	return all
}

// plotters draw a series; the last of them are its sign in a legend.
func (c *Chart) plotters(s Series) (band plot.Plotter, drawn []plot.Thumbnailer) {
	points := c.points(s.X, s.Y)
	if s.Kind == Stair {
		points = nil
		for i, y := range s.Y {
			points = append(points, c.points(s.X[i:i+2], []float64{y, y})...)
		}
	}
	if len(points) == 0 {
		return nil, nil
	}
	line := &plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: s.Colour, Width: vg.Points(1.6)}}
	if s.Dashes > 0 {
		line.Dashes = []vg.Length{vg.Length(4 * s.Dashes), 3}
	}
	size := s.Size
	if size == 0 {
		size = 2
	}
	dots := &plotter.Scatter{XYs: points,
		GlyphStyle: draw.GlyphStyle{Color: s.Colour, Radius: vg.Points(size), Shape: shapes[s.Shape%len(shapes)]}}
	if s.Low != nil {
		var above, below plotter.XYs
		for i, x := range s.X {
			if all := c.points([]float64{x, x, x}, []float64{s.Low[i], s.Y[i], s.High[i]}); len(all) == 3 {
				below, above = append(below, all[0]), append(above, all[2])
			}
		}
		slices.Reverse(below)
		band = &plotter.Polygon{XYs: []plotter.XYs{append(above, below...)}, Color: pale(s.Colour)}
	}
	switch {
	case s.Kind == Dots:
		return band, []plot.Thumbnailer{dots}
	case s.Kind == Line && len(points) <= 40:
		return band, []plot.Thumbnailer{line, dots}
	}
	return band, []plot.Thumbnailer{line}
}

// pale is a colour that covers a sixth of what lies below. It is rounded up because SVG would name another colour
// otherwise.
type pale color.RGBA

// RGBA implements [color.Color].
func (p pale) RGBA() (r, g, b, a uint32) {
	const alpha = 40 * 0x101
	part := func(x uint8) uint32 { return min(uint32(x)*alpha/255+1, alpha) }
	return part(p.R), part(p.G), part(p.B), alpha
}

// plot returns the chart as gonum draws it, and its legend, which has a place of its own where no curve crosses it.
func (c *Chart) plot() (*plot.Plot, plot.Legend) {
	sans := func(f *font.Font, size float64) { f.Variant, f.Size = "Sans", vg.Points(size) }
	p, legend := plot.New(), plot.NewLegend()
	legend.Top, legend.Left, legend.Padding = true, true, vg.Points(2)
	sans(&legend.TextStyle.Font, 10)
	p.BackgroundColor = nil // a sheet has one
	p.Title.Text, p.Title.Padding = files.Shown(c.Title), vg.Points(6)
	if c.Bands != "" && slices.ContainsFunc(c.series, func(s Series) bool { return s.Low != nil }) {
		p.Title.Text += "\n" + c.Bands
	}
	sans(&p.Title.TextStyle.Font, 13)
	grid := plotter.NewGrid()
	grey := color.Gray{225}
	grid.Vertical.Color, grid.Horizontal.Color = grey, grey
	p.Add(grid)
	named := map[string]bool{}
	var above []plot.Plotter // all bands lie below
	for _, s := range c.series {
		band, drawn := c.plotters(s)
		if band != nil {
			p.Add(band)
		}
		for _, d := range drawn {
			above = append(above, d.(plot.Plotter))
		}
		if drawn != nil && s.Name != "" && !named[s.Name] {
			named[s.Name] = true
			legend.Add(files.Shown(s.Name), drawn...)
		}
	}
	p.Add(above...)
	for axis, drawn := range map[*Axis]*plot.Axis{&c.X: &p.X, &c.Y: &p.Y} {
		drawn.Label.Text, drawn.Label.Padding = files.Shown(axis.Label), vg.Points(4)
		sans(&drawn.Label.TextStyle.Font, 11)
		sans(&drawn.Tick.Label.Font, 10)
		for _, x := range axis.Reach {
			drawn.Min, drawn.Max = min(drawn.Min, axis.place(x)), max(drawn.Max, axis.place(x))
		}
		drawn.Min, drawn.Max = Room(drawn.Min, drawn.Max)
		drawn.Tick.Marker = plot.TickerFunc(LinearTicks)
		switch {
		case axis.Log: // gonum's own logarithmic axis makes room for its label in the wrong place
			drawn.Tick.Marker = plot.TickerFunc(LogTicks)
			drawn.Label.Text += " (log scale)"
		case axis.Places != nil:
			places := make(plot.ConstantTicks, len(axis.Places))
			for i, name := range axis.Places {
				places[i] = plot.Tick{Value: float64(i), Label: files.Shown(name)}
			}
			drawn.Tick.Marker = places
		}
	}
	return p, legend
}
