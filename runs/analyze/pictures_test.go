package main

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/report"
)

// cloud is a made-up matrix of n words about (x, 0), whose norms fall with the rank; two rows stand for no word.
func cloud(name string, n int, x float64) picture {
	p := picture{name: name, cosines: make([]float64, 100)}
	for k := range 40 {
		p.singularValues = append(p.singularValues, (10+2*x)/float64(k+1))
	}
	for bin := range p.cosines {
		p.cosines[bin] = math.Exp(-math.Pow((float64(bin)-50-10*x)/8, 2))
	}
	var xs, ys []float64
	for i := range n {
		xs, ys = append(xs, x+math.Cos(float64(i))), append(ys, math.Sin(float64(i)))
		p.norms = append(p.norms, 2+x-math.Log10(float64(i+1))/4)
		if i != 3 && i != n/2 {
			p.order = append(p.order, i)
		}
	}
	p.nearest, p.variances = p.cosines[20:80], []float64{0.5, 0.3, 0.2}
	p.plain = report.NewPlane(xs, ys, [2]float64{0.5, 0.25}, p.order, 2000)
	p.centred = report.NewPlane(ys, xs, [2]float64{0.5, 0.3}, p.order, 2000)
	return p
}

func TestDraw(t *testing.T) {
	var all []picture
	for i := range 4 {
		all = append(all, cloud(string(rune('a'+i)), 300, float64(i)))
	}
	plots := draw(all)
	want := []string{"analysis_singular_values.png", "analysis_cosines.png", "analysis_nearest.png",
		"analysis_projection.png", "analysis_components.png", "analysis_norms.png"}
	if len(plots) != len(want) {
		t.Fatalf("%d pictures", len(plots))
	}
	for i, p := range plots {
		if p.Name != want[i] || len(p.PNG) < 10_000 {
			t.Errorf("picture %d is %s of %d bytes", i, p.Name, len(p.PNG))
		}
	}
}

// Matrices of zeros, of one word or of none are drawn as far as there is anything to see.
func TestDrawOddMatrices(t *testing.T) {
	zeros := picture{name: "zeros", singularValues: []float64{0, 0}, cosines: make([]float64, 100),
		norms: []float64{0, 0}, order: []int{0, 1}}
	zeros.plain = report.NewPlane([]float64{0, 0}, []float64{0, 0}, [2]float64{}, zeros.order, 1)
	one := picture{name: "one", singularValues: []float64{2}, cosines: make([]float64, 100), norms: []float64{2},
		order: []int{0}}
	one.plain = report.NewPlane([]float64{2}, []float64{0}, [2]float64{1, 0}, one.order, 1)
	unknown := cloud("unknown", 30, 0)
	unknown.order, unknown.plain, unknown.centred = nil, report.Plane{}, report.Plane{}
	for n, all := range map[int][]picture{0: nil, 2: {zeros}, 3: {one}, 5: {one, zeros, unknown}} {
		if plots := draw(all); len(plots) != n {
			t.Errorf("%d pictures, want %d", len(plots), n)
		}
	}
}

func TestNormBands(t *testing.T) {
	var order []int
	norms := make([]float64, 1001)
	norms[1000] = 1e9     // of no word
	for i := range 1000 { // rows in no order of frequency; rank r has norm r
		order, norms[(i*7)%1000] = append(order, (i*7)%1000), float64(i+1)
	}
	at, bands := normBands(order, norms)
	if len(at) < 20 || len(at) != len(bands[0]) || len(at) != len(bands[2]) {
		t.Fatalf("%d groups", len(at))
	}
	for i := range at {
		low, middle, high := bands[0][i], bands[1][i], bands[2][i]
		if !(low < middle && middle < high) || high > 1000 || math.Abs(math.Log10(middle/at[i])) > 0.15 {
			t.Errorf("group %d, at %v, has norms %v, %v, %v", i, at[i], low, middle, high)
		}
		if i > 0 && !(at[i] > at[i-1]) {
			t.Errorf("group %d does not follow group %d", i, i-1)
		}
	}
	if at[0] > 10 {
		t.Errorf("the first group, of ten rows, is at rank %v", at[0])
	}
	if at, _ := normBands(nil, []float64{1}); at != nil {
		t.Errorf("no words have groups at %v", at)
	}
}
