package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/runs/internal/chart"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
)

// relation is how a measure of isotropy and the validation loss go together over runs, as -json prints it.
type relation struct {
	of       measure
	Measure  string        `json:"measure"`
	Given    string        `json:"among_runs_of_one"` // ranks are taken among these: "text" or "text and method"
	Runs     int           `json:"runs"`
	Settings int           `json:"settings"`                        // rows that these runs are of
	Rho      record.Number `json:"rank_correlation_with_valid_nll"` // below 0 where a larger measure has a lower loss
	// Low to High is a 95 % interval, of rows drawn with replacement: runs that differ in the seed alone are no new
	// evidence.
	Low  record.Number `json:"low"`
	High record.Number `json:"high"`
}

// isotropyMeasures are what is set against the loss, as numbersOf names them.
var isotropyMeasures = []string{"isotropy.i1", "isotropy.i2", "isotropy.i1_both_signs", "isotropy.i2_both_signs",
	"isotropy.mean_cosine", "isotropy.sigma_ratio"}

const isotropyDraws = 2000

// point is a run's place: its loss beside one of its measures.
type point struct {
	row     int
	stratum string
	x, y    float64
}

// points are the runs that have a measure and a loss, and another such run in their stratum to be ranked with.
func (c *comparison) points(m measure, given string) (all []point) {
	loss := c.measures[c.index("valid.nll")]
	for k, r := range c.rows {
		for _, t := range r.runs {
			// Losses on other texts, or other pieces of them, are on another scale.
			p := point{k, t.identity("data."), m.of(t), loss.of(t)}
			if given != "text" {
				p.stratum += r.method()
			}
			if !math.IsNaN(p.x) && !math.IsNaN(p.y) {
				all = append(all, p)
			}
		}
	}
	members := map[string]int{}
	for _, p := range all {
		members[p.stratum]++
	}
	return slices.DeleteFunc(all, func(p point) bool { return members[p.stratum] < 2 })
}

// relations are those of all measures of isotropy that these runs have.
func (c *comparison) relations() []relation {
	all := []relation{}
	if c.index("valid.nll") < 0 {
		return all
	}
	for _, name := range isotropyMeasures {
		i := c.index(name)
		if i < 0 {
			continue
		}
		for _, given := range []string{"text", "text and method"} {
			points := c.points(c.measures[i], given)
			if len(points) == 0 {
				continue
			}
			byRow := map[int][]point{}
			for _, p := range points {
				byRow[p.row] = append(byRow[p.row], p)
			}
			low, high := interval(byRow)
			all = append(all, relation{c.measures[i], name, given, len(points), len(byRow),
				number(withinStrata(points)), number(low), number(high)})
		}
	}
	return all
}

// withinStrata is Spearman's correlation of ranks that are taken within each stratum and set around 0, so that what
// differs between strata counts for nothing. Of a stratum of n runs, ranks are divided by n + 1. It is NaN where
// nothing varies.
func withinStrata(points []point) float64 {
	strata := map[string][]point{}
	for _, p := range points {
		strata[p.stratum] = append(strata[p.stratum], p)
	}
	var xs, ys []float64
	for _, name := range slices.Sorted(maps.Keys(strata)) {
		xs = append(xs, centredRanks(strata[name], func(p point) float64 { return p.x })...)
		ys = append(ys, centredRanks(strata[name], func(p point) float64 { return p.y })...)
	}
	if len(xs) < 2 {
		return math.NaN()
	}
	return stat.Correlation(xs, ys, nil)
}

// centredRanks gives each point its place among the sorted ones, equal ones the mean of theirs.
func centredRanks(points []point, of func(p point) float64) []float64 {
	ranks := make([]float64, len(points))
	for i, p := range points {
		ranks[i] = of(p)
	}
	sorted, n := slices.Sorted(slices.Values(ranks)), len(points)
	for i, x := range ranks {
		first, _ := slices.BinarySearch(sorted, x)
		end, _ := slices.BinarySearch(sorted, math.Nextafter(x, math.Inf(1)))
		ranks[i] = float64(first+end-n) / 2 / float64(n+1)
	}
	return ranks
}

// interval is where 95 % of the correlations lie of rows drawn with replacement; NaN with fewer than four rows, of
// which nothing could be learnt.
func interval(byRow map[int][]point) (low, high float64) {
	rows := slices.Sorted(maps.Keys(byRow))
	if len(rows) < 4 {
		return math.NaN(), math.NaN()
	}
	random := rand.New(rand.NewPCG(1, 1))
	var found []float64
	for range isotropyDraws {
		var drawn []point
		for range rows {
			drawn = append(drawn, byRow[rows[random.IntN(len(rows))]]...)
		}
		if rho := withinStrata(drawn); !math.IsNaN(rho) { // one row again and again has none
			found = append(found, rho)
		}
	}
	if len(found) == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(found)
	return stat.Quantile(0.025, stat.Empirical, found, nil), stat.Quantile(0.975, stat.Empirical, found, nil)
}

// isotropy prints the relations as a table in Markdown.
func (c *comparison) isotropy(w io.Writer) error {
	t := report.Table{Head: []string{
		"measure", "among runs of one", "runs", "settings", "rank correlation with the validation loss",
		"95 % interval"}}
	for _, r := range c.relations() {
		between := "–"
		if !math.IsNaN(r.Low.Value()) {
			between = signed(r.Low.Value(), 2) + " to " + signed(r.High.Value(), 2)
		}
		t.Rows = append(t.Rows, []string{r.of.title, r.Given, strconv.Itoa(r.Runs), strconv.Itoa(r.Settings),
			signed(r.Rho.Value(), 2), between})
	}
	_, err := io.WriteString(w, t.Markdown())
	return err
}

// scatters draw each measure of isotropy beside the loss, less the mean loss on the run's text; a colour is a method,
// a shape is a text.
func (c *comparison) scatters() (all []*chart.Chart) {
	for _, r := range c.relations() {
		if r.Given != "text" {
			continue
		}
		points := c.points(r.of, r.Given)
		losses, texts := map[string][]float64{}, []string{}
		for _, p := range points {
			losses[p.stratum] = append(losses[p.stratum], p.y)
			if !slices.Contains(texts, p.stratum) {
				texts = append(texts, p.stratum)
			}
		}
		drawn := chart.New(fmt.Sprintf("%s: rank correlation %s", r.of.title, signed(r.Rho.Value(), 2)), r.of.title,
			"validation loss less the text's mean")
		for _, p := range points {
			of := c.rows[p.row]
			s := chart.Series{Name: of.method(), Kind: chart.Dots, Size: 3, X: []float64{p.x},
				Y: []float64{p.y - stat.Mean(losses[p.stratum], nil)}, Shape: slices.Index(texts, p.stratum)}
			if len(texts) > 1 {
				s.Name += fmt.Sprintf(", text %d (%s)", s.Shape+1, of.runs[0].results.Run)
			}
			same := slices.IndexFunc(c.rows, func(r *row) bool { return r.method() == of.method() })
			drawn.Add(s.Numbered(c.rows[same].hue))
		}
		if r.Settings > 1 && !drawn.Empty() {
			all = append(all, drawn)
		}
	}
	return all
}
