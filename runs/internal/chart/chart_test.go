package chart

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gonum.org/v1/plot"
)

// elements reads an SVG and counts its elements; what is no XML is an error.
func elements(t *testing.T, svg string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return counts
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok {
			counts[e.Name.Local]++
		}
	}
}

// TestHostileLabels: no label becomes an element of the picture, or breaks its XML.
func TestHostileLabels(t *testing.T) {
	const bad = `</text></svg><script>alert(1)</script><a href="x">"'&amp;` + "\x00\x1b[2J\xff\u202e"
	c := New(bad, bad, bad)
	c.Add(Series{Name: bad, Colour: Hue(1), X: []float64{1, 2}, Y: []float64{1, 2}})
	for _, svg := range []string{c.SVG(), c.File()} {
		if counts := elements(t, svg); counts["script"] > 0 || counts["a"] > 0 || counts["svg"] != 1 || !utf8.ValidString(svg) {
			t.Errorf("labels make elements: %v", counts)
		}
	}
}

func TestChart(t *testing.T) {
	c := New("a < b & \"c\"", "<x>", "y")
	c.Y.Log = true
	if !c.Empty() || Drawn(c) != nil || Draw("", "", 1, c) != nil {
		t.Error("nothing is not empty")
	}
	c.Add(Series{Name: "<b>", X: []float64{1, 2, 3, 4}, Y: []float64{1, math.NaN(), 0, 10},
		Low: []float64{0.5, 0, 0, 9}, High: []float64{2, 1, 1, 11}}.Numbered(0))
	c.Add(Series{Name: "dots", Kind: Dots, X: []float64{1}, Y: []float64{3}}.Numbered(8))
	c.Add(Series{Name: "stairs", Kind: Stair, X: []float64{0, 1, 2}, Y: []float64{1, 2}}.Numbered(1))
	svg := c.File()
	if got := elements(t, svg); got["svg"] != 1 || got["path"] < 20 {
		t.Errorf("elements: %v", got)
	}
	for _, bad := range []string{"NaN", "Inf", "<b>", "<x>", "< b", "url("} {
		if strings.Contains(svg, bad) {
			t.Errorf("the picture holds %q:\n%s", bad, svg)
		}
	}
	// A line and its band have the colour of their number alone.
	if n := strings.Count(svg, "stroke:"+CSS(Hue(0))); n != 2 { // with the legend
		t.Errorf("%d strokes have the colour of the first series:\n%s", n, svg)
	}
	if !strings.Contains(svg, "fill:"+CSS(Hue(0))+";fill-opacity:") || Hue(8) == Hue(1) {
		t.Errorf("there is no band:\n%s", svg)
	}
}

// TestMany: series with more numbers than there are hues have colours of their own, and dashes.
func TestMany(t *testing.T) {
	c := New("", "", "")
	seen := map[string]bool{}
	for i := range 3 * Hues {
		seen[CSS(Hue(i))] = true
		c.Add(Series{X: []float64{1, 2}, Y: []float64{1, 2}}.Numbered(i))
	}
	if len(seen) != 3*Hues {
		t.Errorf("%d colours for %d series", len(seen), 3*Hues)
	}
	if n := strings.Count(c.SVG(), "stroke-dasharray"); n != 2*Hues {
		t.Errorf("%d lines have dashes", n)
	}
}

// TestOddRanges: any two numbers, neighbours, zeros and the largest too, make a picture whose axes end.
func TestOddRanges(t *testing.T) {
	for _, ends := range [][2]float64{{7, 7}, {0, 0}, {0.9999999999999996, 1}, {5e-324, 5e-324}, {5e-324, 1e300},
		{-1e300, 1e300}, {1.7e308, 1.7e308}, {1e-300, 2e-300}, {-3, -3}} {
		for _, axis := range []Axis{{}, {Log: true}, {Reach: []float64{0}}, {Reach: []float64{0, 1}}} {
			c := Chart{X: axis, Y: axis, Width: 480, Height: 300}
			c.Add(Series{X: ends[:], Y: ends[:]})
			if c.Empty() {
				continue
			}
			if svg := c.SVG(); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || len(svg) > 40_000 {
				t.Errorf("%v on %+v: %d bytes, %.2000s", ends, axis, len(svg), svg)
			}
		}
	}
}

// TestFile: a chart by itself has a legend with each name once, which makes it wider.
func TestFile(t *testing.T) {
	c := New("", "", "")
	for i, name := range []string{"mle", "mle", "", "a < b", strings.Repeat("long ", 15)} {
		c.Add(Series{Name: name, Kind: Dots, X: []float64{1}, Y: []float64{3}}.Numbered(i))
	}
	page, file := c.SVG(), c.File()
	if got, bare := elements(t, file), elements(t, page); got["text"] != bare["text"]+3 {
		t.Errorf("elements: %v, and %v on a page", got, bare)
	}
	if !strings.Contains(page, `width="480" height="300"`) || strings.Contains(file, `width="480"`) {
		t.Errorf("%.200s\n%.200s", page, file)
	}
}

// TestDraw: charts stand row by row in one picture.
func TestDraw(t *testing.T) {
	var all []*Chart
	for range 4 {
		c := New("", "", "")
		c.Add(Series{X: []float64{1, 2}, Y: []float64{1, 2}}.Numbered(0))
		all = append(all, c, New("empty", "", ""))
	}
	plots := Draw("a.png", "A", 3, all...)
	img, err := png.Decode(bytes.NewReader(plots[0].PNG))
	if err != nil || img.Bounds().Size() != image.Pt(2*3*480, 2*2*300) {
		t.Errorf("%v, %v", err, img.Bounds())
	}
}

// TestSquare: a unit is as long on both axes.
func TestSquare(t *testing.T) {
	x, y := plot.Axis{Min: 0, Max: 1}, plot.Axis{Min: 0, Max: 10}
	square(&x, 400, &y, 200)
	if unit := (x.Max - x.Min) / 400; math.Abs(unit-(y.Max-y.Min)/200) > 1e-9 || y.Min != 0 || y.Max != 10 {
		t.Errorf("axes from %g to %g and from %g to %g", x.Min, x.Max, y.Min, y.Max)
	}
}

// TestDensity: a staircase of area one, without its empty ends.
func TestDensity(t *testing.T) {
	s := Density("", []float64{0, 1, 3, 0}, -1, 1)
	if !slices.Equal(s.X, []float64{-0.5, 0, 0.5}) || !slices.Equal(s.Y, []float64{0.5, 1.5}) {
		t.Errorf("%+v", s)
	}
	if s := Density("", []float64{0, 0}, -1, 1); s.X != nil {
		t.Errorf("of nothing: %+v", s)
	}
}

// TestShapes: dots of another shape are drawn otherwise, and what bands are stands where there is one.
func TestShapes(t *testing.T) {
	draw := func(shape int, band []float64) string {
		c := New("title", "x", "y")
		c.Bands = "what bands are"
		c.Add(Series{Kind: Dots, Shape: shape, X: []float64{1, 2}, Y: []float64{1, 2}, Low: band, High: band})
		return c.SVG()
	}
	seen := map[string]int{}
	for i := range shapes {
		seen[draw(i, nil)] = i
	}
	if len(seen) != len(shapes) || draw(len(shapes), nil) != draw(0, nil) {
		t.Errorf("%d pictures of %d shapes", len(seen), len(shapes))
	}
	if strings.Contains(draw(0, nil), "bands") || !strings.Contains(draw(0, []float64{1, 2}), "what bands are") {
		t.Error("bands are explained where there is none, or not where there is one")
	}
}
