package chart

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/runs/internal/report"
)

// Axis is one of a chart's two.
type Axis struct {
	Label string
	Log   bool
	Zero  bool     // begins at 0, where it is not logarithmic
	Least float64  // reaches this at least, where it is not logarithmic
	Names []string // of the places 0, 1, 2, ..., in place of numbers
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
	Name      string // in the legend; empty: not in it
	Hue       int    // which colour
	Kind      Kind
	X, Y      []float64
	Low, High []float64 // of a band around a line, or nil
	Faint     bool      // behind others, as a second line of the same name
	Colour    string    // CSS colour in place of Hue's
	Size      float64   // of dots, in pixels; 0 is 2
}

// Chart is a set of series on two axes.
type Chart struct {
	Title  string
	X, Y   Axis
	Width  float64 // in pixels; 0 is 480
	Height float64 // 0 is 300
	Square bool    // a unit is as long on both axes
	series []Series
}

// Add adds a series; later ones lie over earlier ones.
func (c *Chart) Add(s Series) { c.series = append(c.series, s) }

// Empty says whether there is nothing to draw.
func (c *Chart) Empty() bool {
	x, _ := c.ranges()
	return !x.any
}

// hues are Okabe and Ito's colours, which stay apart for colour-blind readers; those after the last come again with dashes.
var hues = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// Hue is the colour of a number, as CSS takes it.
func Hue(i int) string { return hues[i%len(hues)] }

func (s Series) colour() string {
	if s.Colour != "" {
		return s.Colour
	}
	return Hue(s.Hue)
}

// dashes tell a line from those before it that have its colour.
func (s Series) dashes() string {
	if round := s.Hue / len(hues); round > 0 {
		return fmt.Sprintf(` stroke-dasharray="%d 3"`, 4*round)
	}
	return ""
}

// span is the range of an axis.
type span struct {
	low, high float64
	any       bool
	log       bool
}

func (s *span) add(x float64) {
	if !s.shows(x) {
		return
	}
	if !s.any {
		s.low, s.high, s.any = x, x, true
	}
	s.low, s.high = min(s.low, x), max(s.high, x)
}

// shows says whether a value can be drawn.
func (s *span) shows(x float64) bool {
	return !math.IsNaN(x) && !math.IsInf(x, 0) && (!s.log || x > 0)
}

// at is where a value lies, 0 to 1.
func (s *span) at(x float64) float64 {
	if s.log {
		return (math.Log(x) - math.Log(s.low)) / (math.Log(s.high) - math.Log(s.low))
	}
	return (x/2 - s.low/2) / (s.high/2 - s.low/2)
}

// widen leaves room around the values, and gives a single one a range. The axis begins at 0 with zero, and reaches least.
func (s *span) widen(zero bool, least float64) {
	if s.log {
		low, high := math.Log(s.low), math.Log(s.high)
		room := 0.03 * (high - low)
		if high-low < report.Flat {
			room = math.Ln2
		}
		s.low, s.high = max(math.Exp(low-room), math.SmallestNonzeroFloat64), min(math.Exp(high+room), math.MaxFloat64)
		return
	}
	if zero {
		s.low = min(s.low, 0)
	}
	if least > 0 {
		s.high = max(s.high, least)
	}
	s.low, s.high = report.Room(s.low, s.high)
	room := 0.03*s.high - 0.03*s.low // the difference itself may be more than a number can say
	if !zero || s.low < 0 {
		s.low = max(s.low-room, -math.MaxFloat64)
	}
	s.high = min(s.high+room, math.MaxFloat64)
}

// ranges are what the axes have to hold.
func (c *Chart) ranges() (x, y span) {
	x.log, y.log = c.X.Log, c.Y.Log
	for _, s := range c.series {
		for i, at := range s.Y {
			if !y.shows(at) || !x.shows(s.X[i]) {
				continue
			}
			x.add(s.X[i])
			y.add(at)
			if s.Kind == Stair {
				x.add(s.X[i+1])
			}
			if s.Low != nil {
				y.add(s.Low[i])
				y.add(s.High[i])
			}
		}
	}
	return x, y
}

// frame is where the plot lies within the picture, in pixels.
type frame struct {
	left, top, width, height float64
	x, y                     span
}

func (f *frame) px(x float64) float64 { return f.left + f.x.at(x)*f.width }
func (f *frame) py(y float64) float64 { return f.top + (1-f.y.at(y))*f.height }

// SVG draws the chart without a legend, to stand in a page that has one.
func (c *Chart) SVG() string { return c.svg(nil) }

// File draws the chart as a picture of its own, on white and with a legend beneath.
func (c *Chart) File() string {
	var legend []Series
	for _, s := range c.series {
		if s.Name != "" && !s.Faint && !slices.ContainsFunc(legend, func(other Series) bool { return other.Name == s.Name }) {
			legend = append(legend, s)
		}
	}
	return c.svg(legend)
}

func (c *Chart) svg(legend []Series) string {
	width, height := c.Width, c.Height
	if width == 0 {
		width = 480
	}
	if height == 0 {
		height = 300
	}
	f := frame{left: 62, top: 28, width: width - 74, height: height - 72}
	f.x, f.y = c.ranges()
	var below strings.Builder
	lines := drawLegend(&below, legend, f.left, height, width)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" width="%[1]g" height="%[2]g" role="img" aria-label="%[3]s" font-family="sans-serif" font-size="11">`,
		width, height+lines, html.EscapeString(c.Title))
	if legend != nil {
		fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="#fff"/>`, width, height+lines)
	}
	fmt.Fprintf(&b, `<text x="%g" y="16" font-size="13" font-weight="600">%s</text>`, f.left, html.EscapeString(c.Title))
	if f.x.any {
		f.x.widen(c.X.Zero, c.X.Least)
		f.y.widen(c.Y.Zero, c.Y.Least)
		if c.Square {
			f.square()
		}
		f.axes(&b, c)
		for _, s := range c.series {
			f.draw(&b, s)
		}
	}
	b.WriteString(below.String())
	b.WriteString("</svg>")
	return b.String()
}

// drawLegend writes a swatch and a name for each series, from left to right and line by line below top, and returns their height.
func drawLegend(b *strings.Builder, legend []Series, left, top, width float64) float64 {
	const line, swatch, letter = 16, 22, 6.3 // pixels; a letter's is a little more than the mean
	if len(legend) == 0 {
		return 0
	}
	x, y := left, top
	for _, s := range legend {
		size := swatch + letter*float64(utf8.RuneCountInString(s.Name)) + 12
		if x > left && x+size > width {
			x, y = left, y+line
		}
		fmt.Fprintf(b, `<path d="M%.1f %.1fh16" stroke="%s" stroke-width="4"%s/><text x="%.1f" y="%.1f">%s</text>`, x, y, s.colour(), s.dashes(), x+swatch, y+4, html.EscapeString(s.Name))
		x += size
	}
	return y + line - top
}

// square widens one range until a unit is as long on both axes.
func (f *frame) square() {
	unit := max((f.x.high-f.x.low)/f.width, (f.y.high-f.y.low)/f.height)
	for _, axis := range []struct {
		s      *span
		length float64
	}{{&f.x, f.width}, {&f.y, f.height}} {
		middle := (axis.s.low + axis.s.high) / 2
		axis.s.low, axis.s.high = middle-unit*axis.length/2, middle+unit*axis.length/2
	}
}

// axes draws grid, numbers and labels.
func (f *frame) axes(b *strings.Builder, c *Chart) {
	bottom, right := f.top+f.height, f.left+f.width
	for _, t := range f.x.ticks(c.X.Names) {
		x := f.px(t.at)
		fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1f" stroke="#e4e4e4"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x, f.top, bottom, x, bottom+14, html.EscapeString(t.label))
	}
	for _, t := range f.y.ticks(c.Y.Names) {
		y := f.py(t.at)
		fmt.Fprintf(b, `<path d="M%.1f %.1fH%.1f" stroke="#e4e4e4"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`, f.left, y, right, f.left-5, y+4, html.EscapeString(t.label))
	}
	fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1fH%.1f" fill="none" stroke="#444"/>`, f.left, f.top, bottom, right)
	note := func(a Axis) string {
		if a.Log {
			return a.Label + " (log scale)"
		}
		return a.Label
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, f.left+f.width/2, bottom+32, html.EscapeString(note(c.X)))
	fmt.Fprintf(b, `<text transform="translate(14 %.1f) rotate(-90)" text-anchor="middle">%s</text>`, f.top+f.height/2, html.EscapeString(note(c.Y)))
}

// draw draws one series. Its class, and its title under the pointer, are its name.
func (f *frame) draw(b *strings.Builder, s Series) {
	colour, opacity, weight := s.colour(), 1.0, 1.7
	if s.Faint {
		opacity, weight = 0.45, 1
	}
	fmt.Fprintf(b, `<g class="s%d"><title>%s</title>`, s.Hue, html.EscapeString(s.Name))
	var path, above strings.Builder
	points, last := 0, "" // last: the band's lower edge, from its end to its beginning
	for i, value := range s.Y {
		if !f.y.shows(value) || !f.x.shows(s.X[i]) {
			continue
		}
		x, y := f.px(s.X[i]), f.py(value)
		command := "L"
		if points == 0 {
			command = "M"
		}
		switch s.Kind {
		case Dots:
			size := s.Size
			if size == 0 {
				size = 2
			}
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="%g" fill="%s"/>`, x, y, size, colour)
		case Stair:
			fmt.Fprintf(&path, "%s%.1f %.1fH%.1f", command, x, y, f.px(s.X[i+1]))
		default:
			fmt.Fprintf(&path, "%s%.1f %.1f", command, x, y)
			if s.Low != nil && f.y.shows(s.Low[i]) && f.y.shows(s.High[i]) {
				fmt.Fprintf(&above, "%s%.1f %.1f", command, x, f.py(s.High[i]))
				last = fmt.Sprintf("L%.1f %.1f", x, f.py(s.Low[i])) + last
			}
		}
		points++
	}
	if last != "" {
		fmt.Fprintf(b, `<path d="%s%sZ" fill="%s" fill-opacity="0.16"/>`, above.String(), last, colour)
	}
	if path.Len() > 0 {
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="%g" stroke-opacity="%g"%s/>`, path.String(), colour, weight, opacity, s.dashes())
	}
	if s.Kind == Line && !s.Faint && points <= 40 {
		for i, value := range s.Y {
			if f.y.shows(value) && f.x.shows(s.X[i]) {
				fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2" fill="%s"/>`, f.px(s.X[i]), f.py(value), colour)
			}
		}
	}
	b.WriteString("</g>")
}
