package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/runs/compare/significance"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/report"
)

// claims is a file that says, before there are scores, which differences to a control were published and how they will
// be judged here.
type claims struct {
	Control   string     `toml:"control"`
	Endpoints []endpoint `toml:"endpoint"`
}

// endpoint is one measure on which methods are judged. All rows of a file but the control are one family for Holm's
// correction, whether something was published of them or not, as in all tables of compare.
type endpoint struct {
	Title     string             `toml:"title"`
	Measure   string             `toml:"measure"`   // as files of -csv name it
	Published map[string]float64 `toml:"published"` // difference to the control, by method
	Looks     map[string]float64 `toml:"looks"`     // level of all methods together, by number of seeds; else 0.05
}

// The words for an interval of the difference to the control, beside 0 and the published difference.
const (
	held         = "held"
	heldSmaller  = "held, smaller than published"
	reversed     = "reversed"
	notThatLarge = "did not hold at the published size"
	tooWeak      = "too weak to tell"
)

// word judges an interval.
func word(low, high, published float64) string {
	if published < 0 { // mirrored, so that more is better
		low, high, published = -high, -low, -published
	}
	switch {
	case math.IsNaN(low):
		return tooWeak
	case low > 0 && high < published:
		return heldSmaller
	case low > 0:
		return held
	case high < 0:
		return reversed
	case high < published:
		return notThatLarge
	}
	return tooWeak
}

func readClaims(path string) (*claims, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, files.Missing(err)
	}
	c := &claims{}
	if err := keys.Decode(string(text), path, c); err != nil {
		return nil, &command.UsageError{Err: err}
	}
	if c.Control == "" || len(c.Endpoints) == 0 {
		return nil, command.Usagef("%s: it wants control = \"METHOD\" and an [[endpoint]] at least", path)
	}
	for i, e := range c.Endpoints {
		c.Endpoints[i].Title = files.Shown(e.Title) // a file's text stands in tables and errors
		if e.Title == "" || e.Measure == "" || len(e.Published) == 0 {
			return nil, command.Usagef("%s: [[endpoint]] %d wants title, measure, and published = {METHOD = DIFFERENCE}",
				path, i+1)
		}
		for method, x := range e.Published {
			if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) || method == c.Control {
				return nil, command.Usagef("%s: %s: the published difference of %.80q is %g: a claim is of another method "+
					"than the control, and above or below 0", path, c.Endpoints[i].Title, method, x)
			}
		}
		for seeds, level := range e.Looks {
			if n, err := strconv.Atoi(seeds); err != nil || n < 2 || strconv.Itoa(n) != seeds || !(level > 0 && level < 1) {
				return nil, command.Usagef("%s: %s: looks has %.80q = %g, and wants a number of seeds above 1 = a level "+
					"between 0 and 1", path, c.Endpoints[i].Title, seeds, level)
			}
		}
	}
	return c, nil
}

// judge is a table, with a line for each claim whose measure the files of -csv have, and a note on how to read it.
func (c *claims) judge(paths []string) (t report.Table, note string, err error) {
	t.Head = []string{"endpoint", "method", "seeds", c.Control, "with the method", "Δ (interval)", "level", "p, Holm",
		"published", "the claim"}
	var unplanned []string
	measured := map[string]string{} // the file of each title
	for _, path := range paths {
		all, err := readScores(path)
		if err != nil {
			return t, "", err
		}
		for _, e := range c.Endpoints {
			at := slices.IndexFunc(all, func(s *scored) bool { return s.measure == e.Measure })
			if at < 0 {
				continue
			}
			if other, twice := measured[e.Title]; twice {
				return t, "", command.Usagef("%s and %s both have scores of %s: name one of them", other, path, e.Title)
			}
			measured[e.Title] = path
			rows, planned, err := e.judge(all[at], c.Control)
			if err != nil {
				return t, "", fmt.Errorf("%s: %s: %w", path, e.Title, err)
			}
			if t.Rows = append(t.Rows, rows...); !planned {
				unplanned = append(unplanned, e.Title)
			}
		}
	}
	if t.Rows == nil {
		return t, "", command.Usagef("these files of -csv have none of the endpoints' measures, and so nothing is judged")
	}
	note = c.footnote()
	if unplanned != nil {
		note += " No look was planned with this number of seeds, so that the family's level is 0.05 and the words are " +
			"exploratory: " + strings.Join(unplanned, "; ") + "."
	}
	var missing []string
	for _, e := range c.Endpoints {
		if measured[e.Title] == "" {
			missing = append(missing, e.Title)
		}
	}
	if missing != nil {
		note += " Not measured: " + strings.Join(missing, "; ") + "."
	}
	return t, note, nil
}

func (c *claims) footnote() string {
	return fmt.Sprintf("Δ is the difference to %s, of a linear model of all rows over seeds, whose spread is pooled. p is "+
		"corrected for the number of rows (Holm), and the interval is of the level at which Holm's procedure tests the "+
		"method. The claim “%s” where the interval lies on the published side of 0, “smaller than published” where it "+
		"lies below the published difference; it is “%s” on the other side of 0; it “%s” where 0 is in the interval "+
		"and the published difference is not; and it is “%s” where both are.",
		c.Control, held, reversed, notThatLarge, tooWeak)
}

// check says what the scores lack: the control, a method of which a difference was published, or seeds of one of them.
func (e *endpoint) check(s *scored, control string) error {
	at := slices.Index(s.methods, control)
	if at < 0 {
		return fmt.Errorf("there is no %s to compare with", files.Shown(control))
	}
	if slices.Contains(s.methods[at+1:], control) {
		return fmt.Errorf("%s, the control, has several rows: leave all but one out", files.Shown(control))
	}
	for _, method := range slices.Sorted(maps.Keys(e.Published)) {
		k := slices.Index(s.methods, method)
		if k < 0 {
			return fmt.Errorf("there is no %s, of which a difference was published: train it, or leave it out of the claims",
				files.Shown(method))
		}
		if slices.Contains(s.methods[k+1:], method) {
			return fmt.Errorf("%s has several rows, and a claim is of one: leave the others out", method)
		}
		for seed, x := range s.values[k] {
			if math.IsNaN(x) != math.IsNaN(s.values[at][seed]) {
				return fmt.Errorf("%s and %s have different seeds: train what is missing", method, control)
			}
		}
	}
	return nil
}

// judge gives a line for each method of the endpoint, in the order of the scores, and whether a look was planned.
func (e *endpoint) judge(s *scored, control string) (rows [][]string, planned bool, err error) {
	if err := e.check(s, control); err != nil {
		return nil, false, err
	}
	fit, _ := s.against(control)
	base := present(s.values[slices.Index(s.methods, control)])
	level := 0.05
	if e.Looks == nil {
		planned = true
	} else if at, found := e.Looks[strconv.Itoa(len(base))]; found {
		level, planned = at, true
	}
	ps := make([]float64, len(s.methods))
	for k := range s.methods {
		ps[k] = fit.Contrasts[k].P
	}
	levels, holm := significance.HolmLevels(ps, level), significance.Holm(ps)
	m := measure{digits: 2}
	if strings.HasSuffix(e.Measure, ".nll") {
		m.digits = 4
	}
	spread := func(values []float64) string {
		s := summary{measure: m}
		s.mean, s.deviation = stat.MeanStdDev(values, nil)
		return s.spread()
	}
	for k, method := range s.methods {
		published, claimed := e.Published[method]
		if !claimed {
			continue
		}
		d := fit.Contrasts[k]
		low, high := d.Interval(levels[k])
		rows = append(rows, []string{e.Title, method, strconv.Itoa(len(base)), spread(base), spread(present(s.values[k])),
			within(d.Estimate, low, high, m.digits), rounded(levels[k]), besideLevel(holm[k], level),
			signed(published, m.digits), word(low, high, published)})
	}
	return rows, planned, nil
}

// rounded is a level with two significant digits, and a dash for none.
func rounded(level float64) string {
	if math.IsNaN(level) {
		return fixed(level, 0)
	}
	return strconv.FormatFloat(level, 'g', 2, 64)
}

// besideLevel is p with the four digits of a look's level; beside 0.05 it is as in other tables.
func besideLevel(p, level float64) string {
	switch {
	case level == 0.05 || math.IsNaN(p):
		return unmarked(p)
	case p < 0.00005:
		return "<0.0001"
	}
	return fixed(p, 4)
}

// present are the scores without those that a row lacks.
func present(values []float64) []float64 { return slices.DeleteFunc(slices.Clone(values), math.IsNaN) }
