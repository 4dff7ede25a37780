package main

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
)

// TestWithinStrata: with one stratum it is Spearman's correlation; what differs between strata counts for nothing.
func TestWithinStrata(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var points []point
	var xs, ys []float64
	for i := range 30 {
		p := point{row: i, x: math.Round(random.NormFloat64() * 3), y: random.NormFloat64()}
		points, xs, ys = append(points, p), append(xs, p.x), append(ys, p.y)
	}
	if got, want := withinStrata(points), measures.RankCorrelation(xs, ys); math.Abs(got-want) > 1e-12 {
		t.Errorf("one stratum: %v, want %v", got, want)
	}
	// y falls with x on each text, and the text with larger x has larger y.
	points = nil
	for i := range 5 {
		x := float64(i)
		points = append(points, point{i, "a", x, -x}, point{5 + i, "b", 100 + x, 100 - x})
	}
	if got := withinStrata(points); math.Abs(got+1) > 1e-12 {
		t.Errorf("two strata: %v, want -1", got)
	}
	if got := withinStrata(points[:1]); !math.IsNaN(got) {
		t.Errorf("one run: %v", got)
	}
}

// TestInterval: it covers the correlation that the runs were drawn with, is wider with fewer rows, and seeds of the
// same settings make it no narrower.
func TestInterval(t *testing.T) {
	width := func(rows, seeds int) (low, high float64) {
		random := rand.New(rand.NewPCG(3, uint64(rows)))
		byRow := map[int][]point{}
		for k := range rows {
			x := random.NormFloat64()
			y := -x + random.NormFloat64() // their rank correlation is -0.69
			for range seeds {
				byRow[k] = append(byRow[k], point{k, "", x, y})
			}
		}
		return interval(byRow)
	}
	few, many, repeated := [2]float64{}, [2]float64{}, [2]float64{}
	few[0], few[1] = width(10, 1)
	many[0], many[1] = width(200, 1)
	repeated[0], repeated[1] = width(200, 3)
	if many[0] > -0.69 || many[1] < -0.69 || many[1]-many[0] > 0.25 || few[1]-few[0] < 2*(many[1]-many[0]) {
		t.Errorf("10 rows: %.2f, 200 rows: %.2f", few, many)
	}
	if math.Abs((repeated[1]-repeated[0])-(many[1]-many[0])) > 0.02 {
		t.Errorf("200 rows: %.3f, each with three equal seeds: %.3f", many, repeated)
	}
	if low, high := width(3, 3); !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("three rows: %v to %v", low, high)
	}
}

// TestIsotropyTable: the table, -json and the page, over two texts and two methods.
func TestIsotropyTable(t *testing.T) {
	folder, corpus := t.TempDir(), corpusFolder(t)
	for i := range 8 {
		method := []string{"mle", "spectrum"}[i%2]
		makeRun(t, folder, corpus, made{method: method, seed: 1, ppl: 10 + float64(i), wrong: 3,
			change: func(c *experiment.Config, r map[string]any) {
				c.Train.LearningRate = 0.001 * float64(i+1)
				if i >= 4 {
					r["data"] = map[string]any{"sha256": map[string]string{"test.de": "bb"}}
				}
				// A larger I1 goes with a lower loss on each text, and a larger I2 with a higher one.
				r["isotropy"] = map[string]any{"i1": 0.9 - 0.1*float64(i%4), "i2": 0.1 * float64(i), "mean_cosine": nil,
					"sigma_ratio": 0.5}
			}})
	}
	makeRun(t, folder, corpus, made{method: "mle", seed: 1, ppl: 30,
		change: func(c *experiment.Config, r map[string]any) {
			// alone on its text: there is nothing to rank it with
			r["data"] = map[string]any{"sha256": map[string]string{"test.de": "cc"}}
		}})
	page := filepath.Join(t.TempDir(), "page.html")
	out, _, err := compared(t, folder, "-quick", "-isotropy", "-out", page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| measure | among runs of one | runs | settings | rank correlation with the validation loss | 95 % interval |",
		"| I1 | text | 8 | 8 | −1.00 | −1.00 to −1.00 |", "| I1 | text and method | 8 | 8 | −1.00 | −1.00 to −1.00 |",
		"| I2 | text | 8 | 8 | +1.00 | +1.00 to +1.00 |",
		"| smallest / largest singular value | text | 8 | 8 | – | – |", // which does not vary
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "mean cosine") {
		t.Errorf("no run has a mean cosine:\n%s", out)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "Isotropy and validation loss") ||
		!strings.Contains(string(text), "I1: rank correlation −1.00") {
		t.Errorf("the page lacks the section: %v", err)
	}
	out, _, err = compared(t, folder, "-quick", "-json")
	var found struct{ Isotropy []relation }
	if err != nil || json.Unmarshal([]byte(out), &found) != nil || len(found.Isotropy) != 6 ||
		found.Isotropy[0].Measure != "isotropy.i1" || found.Isotropy[0].Rho.Value() != -1 {
		t.Errorf("-json: %v, %+v", err, found.Isotropy)
	}
}

// TestScatterColours: a method's dots have the colour of its first row, also where rows of another method took the
// method's own. The page finds by it which row they belong to.
func TestScatterColours(t *testing.T) {
	folder, corpus := t.TempDir(), corpusFolder(t)
	for i, method := range []string{"mle", "mle", "mle", "vmf"} { // whose colour the third row of mle has
		makeRun(t, folder, corpus, made{method: method, seed: 1, ppl: 10 + float64(i),
			change: func(c *experiment.Config, r map[string]any) {
				c.Train.LearningRate = 0.001 * float64(i+1)
				r["isotropy"] = map[string]any{"i1": 0.9 - 0.1*float64(i), "i2": nil, "mean_cosine": nil,
					"sigma_ratio": nil}
			}})
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if _, _, err := compared(t, folder, "-quick", "-out", page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	colour := regexp.MustCompile(`data-colour="(#[0-9A-F]+)" data-row="vmf`).FindSubmatch(text)
	_, scatter, found := strings.Cut(string(text), "Isotropy and validation loss")
	scatter, _, _ = strings.Cut(scatter, "<h2")
	if colour == nil || !found || !strings.Contains(scatter, string(colour[1])) {
		t.Errorf("the dots of vmf lack the colour %s of its row:\n%.2000s", colour, scatter)
	}
}
