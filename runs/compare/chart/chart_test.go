package chart

import (
	"encoding/xml"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
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

func TestChart(t *testing.T) {
	c := Chart{Title: "a < b & \"c\"", X: Axis{Label: "x"}, Y: Axis{Label: "y", Log: true}}
	if !c.Empty() {
		t.Error("nothing is not empty")
	}
	c.Add(Series{Name: "<b>", X: []float64{1, 2, 3, 4}, Y: []float64{1, math.NaN(), 0, 10}, Low: []float64{0.5, 0, 0, 9}, High: []float64{2, 1, 1, 11}})
	c.Add(Series{Name: "dots", Hue: 8, Kind: Dots, X: []float64{1}, Y: []float64{3}})
	c.Add(Series{Name: "stairs", Hue: 1, Kind: Stair, X: []float64{0, 1, 2}, Y: []float64{1, 2}})
	svg := c.SVG()
	if got := elements(t, svg); got["svg"] != 1 || got["circle"] != 3 || got["g"] != 3 {
		t.Errorf("elements: %v", got)
	}
	for _, bad := range []string{"NaN", "Inf", "<b>"} {
		if strings.Contains(svg, bad) {
			t.Errorf("the picture holds %q:\n%s", bad, svg)
		}
	}
	for _, single := range []Axis{{}, {Log: true}, {Zero: true}} {
		c := Chart{X: single, Y: single}
		c.Add(Series{X: []float64{7}, Y: []float64{7}})
		if svg := c.SVG(); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("one point: %s", svg)
		}
	}
}

// TestOddRanges: any two numbers, neighbours, zeros and the largest too, make a picture whose axes end.
func TestOddRanges(t *testing.T) {
	for _, ends := range [][2]float64{{0.9999999999999996, 1}, {5e-324, 5e-324}, {5e-324, 1.7e308}, {-1.7e308, 1.7e308}, {1.7e308, 1.7e308}, {1e-300, 2e-300}, {-3, -3}} {
		for _, axis := range []Axis{{}, {Log: true}, {Zero: true}, {Zero: true, Least: 1}} {
			c := Chart{X: axis, Y: axis}
			c.Add(Series{X: ends[:], Y: ends[:]})
			if svg := c.SVG(); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || len(svg) > 20_000 {
				t.Errorf("%v on %+v: %.2000s", ends, axis, svg)
			}
		}
	}
	flat := span{any: true}
	if flat.widen(true, 1); flat.low != 0 || flat.high != 1.03 {
		t.Errorf("zeros get an axis from %g to %g", flat.low, flat.high)
	}
	flat = span{any: true}
	if flat.widen(false, 0); flat.low < -0.1 {
		t.Errorf("zeros get an axis from %g to %g", flat.low, flat.high)
	}
}

// TestFile: a chart by itself has a ground and, once for each name, a legend, whose lines make it higher.
func TestFile(t *testing.T) {
	c := Chart{}
	for i, name := range []string{"mle", "mle", "", "a < b", strings.Repeat("long ", 15)} {
		c.Add(Series{Name: name, Hue: i, Kind: Dots, X: []float64{1}, Y: []float64{3}})
	}
	c.Add(Series{Name: "behind", Faint: true, X: []float64{1}, Y: []float64{3}})
	page, file := c.SVG(), c.File()
	if got, bare := elements(t, file), elements(t, page); got["rect"] != 1 || bare["rect"] != 0 || got["text"] != bare["text"]+3 {
		t.Errorf("elements: %v, and %v on a page", got, bare)
	}
	if !strings.Contains(page, `height="300"`) || !strings.Contains(file, `height="332"`) {
		t.Errorf("%.200s\n%.200s", page, file)
	}
}

// TestSquare: a unit is as long on both axes.
func TestSquare(t *testing.T) {
	f := frame{width: 400, height: 200, x: span{low: 0, high: 1}, y: span{low: 0, high: 10}}
	f.square()
	if x, y := f.px(1)-f.px(0), f.py(0)-f.py(1); math.Abs(x-y) > 1e-9 || f.y.low != 0 || f.y.high != 10 {
		t.Errorf("a unit is %g wide and %g high", x, y)
	}
}

// TestTicks: the numbers of an axis stand where they belong, on a logarithmic one too, and names take their place.
func TestTicks(t *testing.T) {
	for _, s := range []span{{low: 0, high: 1000}, {low: 0.5, high: 5000, log: true}} {
		for _, tick := range s.ticks(nil) {
			if want, err := strconv.ParseFloat(tick.label, 64); err != nil || math.Abs(want-tick.at) > 1e-9*want {
				t.Errorf("%s stands at %g", tick.label, tick.at)
			}
		}
	}
	if all := (&span{low: 0, high: 1}).ticks([]string{"a", "b"}); len(all) != 2 || all[1] != (tick{1, "b"}) {
		t.Errorf("names: %v", all)
	}
}
