package report

import (
	"image/color"
	"math"
	"testing"
)

// cloud is a made-up matrix of n words about (x, 0), whose norms fall with the rank; two rows stand for no word.
func cloud(name string, n int, x float64) Matrix {
	m := Matrix{Name: name, Cosines: make([]float64, 100), Shares: [2]float64{0.5, 0.25}}
	for k := range 40 {
		m.SingularValues = append(m.SingularValues, (10+2*x)/float64(k+1))
	}
	for bin := range m.Cosines {
		m.Cosines[bin] = math.Exp(-math.Pow((float64(bin)-50-10*x)/8, 2))
	}
	for i := range n {
		m.X, m.Y = append(m.X, x+math.Cos(float64(i))), append(m.Y, math.Sin(float64(i)))
		m.Norms, m.Ranks = append(m.Norms, 2+x-math.Log10(float64(i+1))/4), append(m.Ranks, float64(i+1))
	}
	m.Ranks[3], m.Ranks[n/2] = math.NaN(), math.NaN()
	m.Nearest, m.Variances, m.Scores = m.Cosines[20:80], []float64{0.5, 0.3, 0.2}, [][]float64{m.Y, m.X}
	return m
}

func TestDrawMatrices(t *testing.T) {
	var all []Matrix
	for i := range 4 {
		all = append(all, cloud(string(rune('a'+i)), 300, float64(i)))
	}
	plots, err := DrawMatrices(all)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"analysis_singular_values.png", "analysis_cosines.png", "analysis_nearest.png", "analysis_projection.png", "analysis_components.png", "analysis_norms.png"}
	if len(plots) != len(want) {
		t.Fatalf("%d pictures", len(plots))
	}
	for i, p := range plots {
		img, blues, oranges := colours(t, p.PNG)
		if p.Name != want[i] {
			t.Errorf("picture %d is %s", i, p.Name)
		}
		if p.Name == "analysis_projection.png" || p.Name == "analysis_components.png" {
			words := count(img.At, img.Bounds().Dx(), img.Bounds().Dy(), frequencyColors[2])
			zeros := count(img.At, img.Bounds().Dx(), img.Bounds().Dy(), sky)
			if words < 4*300 || zeros < 4*50 {
				t.Errorf("the projection has %d points of words and %d of zero vectors", words, zeros)
			}
			if size := img.Bounds().Size(); size.X != 2*(560+2*392) || size.Y != 2*2*400 {
				t.Errorf("four projections, three to a row, have size %v", size)
			}
		} else if blues < 60 || oranges < 60 {
			t.Errorf("%s shows %d blue and %d orange points: no curves", p.Name, blues, oranges)
		}
	}
}

func count(at func(x, y int) color.Color, width, height int, c color.Color) (n int) {
	for y := range height {
		for x := range width {
			if sameColour(at(x, y).RGBA())(c.RGBA()) {
				n++
			}
		}
	}
	return n
}

// Matrices of zeros, of one word or of none are drawn as far as there is anything to see.
func TestDrawOddMatrices(t *testing.T) {
	zeros := Matrix{Name: "zeros", SingularValues: []float64{0, 0}, Cosines: make([]float64, 100), X: []float64{0, 0}, Y: []float64{0, 0}, Norms: []float64{0, 0}, Ranks: []float64{1, 2}}
	one := Matrix{Name: "one", SingularValues: []float64{2}, Cosines: make([]float64, 100), X: []float64{2}, Y: []float64{0}, Norms: []float64{2}, Ranks: []float64{1}}
	unknown := cloud("unknown", 30, 0)
	for i := range unknown.Ranks {
		unknown.Ranks[i] = math.NaN()
	}
	for n, all := range map[int][]Matrix{0: nil, 2: {zeros}, 3: {one}, 6: {one, zeros, unknown}} {
		plots, err := DrawMatrices(all)
		if err != nil {
			t.Errorf("%d: %v", n, err)
		}
		if len(plots) != n {
			t.Errorf("%d pictures, want %d", len(plots), n)
		}
		for _, p := range plots {
			colours(t, p.PNG)
		}
	}
}

// More matrices than colours: the later ones are dashed.
func TestManyMatrices(t *testing.T) {
	p := newPanel("", "", "", false)
	first, err := p.addLine("", []float64{1, 2}, []float64{1, 2}, hue(0), false)
	if err != nil {
		t.Fatal(err)
	}
	if dash(first, 0); len(first.Dashes) != 0 {
		t.Error("the first line is dashed")
	}
	if dash(first, len(hues)); len(first.Dashes) == 0 || hue(0) != hue(len(hues)) {
		t.Error("a line of a colour that is taken looks like the one before")
	}
}

func TestNormBands(t *testing.T) {
	var ranks, norms []float64
	for i := range 1000 { // rows in no order of frequency; rank r has norm r
		ranks, norms = append(ranks, float64((i*7)%1000+1)), append(norms, float64((i*7)%1000+1))
	}
	at, bands := normBands(append(ranks, math.NaN()), append(norms, 1e9))
	if len(at) < 20 || len(at) != len(bands[0]) || len(at) != len(bands[2]) {
		t.Fatalf("%d groups", len(at))
	}
	for i := range at {
		low, middle, high := bands[0][i], bands[1][i], bands[2][i]
		if !(low < middle && middle < high) || high > 1000 || math.Abs(math.Log10(middle)-at[i]) > 0.15 {
			t.Errorf("group %d, at %v, has norms %v, %v, %v", i, at[i], low, middle, high)
		}
		if i > 0 && !(at[i] > at[i-1]) {
			t.Errorf("group %d does not follow group %d", i, i-1)
		}
	}
	if at[0] > 1 {
		t.Errorf("the first group, of ten rows, is at rank %v", math.Pow(10, at[0]))
	}
	if at, _ := normBands([]float64{math.NaN()}, []float64{1}); at != nil {
		t.Errorf("no words have groups at %v", at)
	}
}
