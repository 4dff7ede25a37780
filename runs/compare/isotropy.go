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

// relation is how a measure of isotropy and the validation loss go together over runs.
type relation struct {
	measure   measure
	given     string // ranks are taken among runs of one text, or besides of one method: "text" or "text and method"
	runs      int
	settings  int     // rows that these runs are of
	rho       float64 // Spearman's; below 0 where runs with a larger measure have a lower loss
	low, high float64 // 95 % interval: rows drawn with replacement, since runs that differ in the seed alone are no new evidence
}

// isotropyMeasures are what is set against the loss, as numbersOf names them.
var isotropyMeasures = []string{"isotropy.i1", "isotropy.i2", "isotropy.mean_cosine", "isotropy.sigma_ratio"}

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
			p := point{k, t.identity("data."), m.of(t), loss.of(t)} // losses on other texts, or other pieces of them, are on another scale
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
func (c *comparison) relations() (all []relation) {
	if c.index("valid.nll") < 0 {
		return nil
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
			r := relation{measure: c.measures[i], given: given, runs: len(points), rho: withinStrata(points)}
			byRow := map[int][]point{}
			for _, p := range points {
				byRow[p.row] = append(byRow[p.row], p)
			}
			r.settings = len(byRow)
			r.low, r.high = interval(byRow)
			all = append(all, r)
		}
	}
	return all
}

// withinStrata is Spearman's correlation of ranks that are taken within each stratum and set around 0, so that what differs between
// strata counts for nothing. Of a stratum of n runs, ranks are divided by n + 1. It is NaN where nothing varies.
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

// interval is where 95 % of the correlations lie of rows drawn with replacement; NaN with fewer than four rows, of which
// nothing could be learnt.
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
		"measure", "among runs of one", "runs", "settings", "rank correlation with the validation loss", "95 % interval"}}
	for _, r := range c.relations() {
		between := "–"
		if !math.IsNaN(r.low) {
			between = signed(r.low, 2) + " to " + signed(r.high, 2)
		}
		t.Rows = append(t.Rows, []string{r.measure.title, r.given, strconv.Itoa(r.runs), strconv.Itoa(r.settings), signed(r.rho, 2), between})
	}
	_, err := io.WriteString(w, t.Markdown())
	return err
}

// scatters draw each measure of isotropy beside the loss, less the mean loss on the run's text; a colour is a method.
func (c *comparison) scatters() (all []*chart.Chart) {
	first := map[string]int{} // row of a method
	for k, r := range slices.Backward(c.rows) {
		first[r.method()] = k
	}
	for _, r := range c.relations() {
		if r.given != "text" {
			continue
		}
		points := c.points(r.measure, r.given)
		losses := map[string][]float64{}
		for _, p := range points {
			losses[p.stratum] = append(losses[p.stratum], p.y)
		}
		drawn := chart.New(fmt.Sprintf("%s: rank correlation %s", r.measure.title, signed(r.rho, 2)), r.measure.title, "validation loss less the text's mean")
		for _, p := range points {
			method := c.rows[p.row].method()
			drawn.Add(chart.Series{Name: method, Kind: chart.Dots, Size: 3, X: []float64{p.x}, Y: []float64{p.y - stat.Mean(losses[p.stratum], nil)}}.Numbered(first[method]))
		}
		if r.settings > 1 && !drawn.Empty() {
			all = append(all, drawn)
		}
	}
	return all
}

// jsonRelation is a relation in -json.
type jsonRelation struct {
	Measure  string        `json:"measure"`
	Given    string        `json:"among_runs_of_one"`
	Runs     int           `json:"runs"`
	Settings int           `json:"settings"`
	Rho      record.Number `json:"rank_correlation_with_valid_nll"`
	Low      record.Number `json:"low"`
	High     record.Number `json:"high"`
}

func (c *comparison) jsonRelations() []jsonRelation {
	all := []jsonRelation{}
	for _, r := range c.relations() {
		all = append(all, jsonRelation{r.measure.name, r.given, r.runs, r.settings, number(r.rho), number(r.low), number(r.high)})
	}
	return all
}
