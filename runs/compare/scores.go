package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/compare/significance"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/tokenize/score"
)

// measure is one number of a run.
type measure struct {
	name   string // as JSON and CSV have it: "test.NAME.bleu"
	title  string // as tables have it
	digits int
	better int // 1: larger is better, -1: smaller is, 0: neither
}

// of is NaN where the run has no such number.
func (m measure) of(t *trained) float64 {
	if x, known := t.numbers[m.name]; known {
		return x
	}
	return math.NaN()
}

// numbersOf are the numbers that any of the runs has.
func numbersOf(runs []*trained) []measure {
	texts := tests(runs)
	short := func(text string) string {
		if len(texts) == 1 {
			return "test"
		}
		return text
	}
	all := []measure{{"valid.nll", "valid nll", 4, -1}, {"valid.ppl", "valid ppl", 2, -1}}
	add := func(name, title string, digits, better int) { all = append(all, measure{name, title, digits, better}) }
	for _, text := range texts {
		add("test."+text+".nll", short(text)+" nll", 4, -1)
		add("test."+text+".ppl", short(text)+" ppl", 2, -1)
		add("test."+text+".bleu", short(text)+" BLEU", 2, 1)
		add("test."+text+".bleu_tok", short(text)+" tokenised BLEU", 2, 1)
		add("test."+text+".chrf", short(text)+" chrF", 2, 1)
	}
	for _, with := range record.Evaluations {
		add("valid."+with+".ppl", "valid ppl, "+with, 2, -1)
		for _, text := range texts {
			add("test."+text+"."+with+".nll", short(text)+" nll, "+with, 4, -1)
			add("test."+text+"."+with+".ppl", short(text)+" ppl, "+with, 2, -1)
		}
	}
	add("isotropy.i1", "I1", 3, 0)
	add("isotropy.i2", "I2", 4, 0)
	add("isotropy.i1_both_signs", "I1, both signs", 3, 0)
	add("isotropy.i2_both_signs", "I2, both signs", 4, 0)
	add("isotropy.mean_cosine", "mean cosine", 4, 0)
	add("isotropy.sigma_ratio", "smallest / largest singular value", 4, 0)
	add("isotropy.frobenius", "Frobenius norm", 1, 0)
	all = append(all, modelMeasures...)
	for _, text := range texts {
		for _, bucket := range score.FrequencyBuckets() {
			add(seen(text, bucket), short(text)+" nll, words seen "+bucket.Name()+" times", 4, -1)
			add("test."+text+".f1."+bucket.Name(), short(text)+" F1, words seen "+bucket.Name()+" times", 4, 1)
		}
	}
	add("params", "parameters", 0, 0)
	add("updates", "updates", 0, 0)
	add("best.step", "updates to best", 0, -1)
	add("best.seconds", "seconds to best", 0, -1)
	add("train_seconds", "seconds of training", 0, -1)
	add("seconds_per_update", "seconds an update", 4, -1)
	add("tokens_per_s", "tokens a second", 0, 1)
	add("peak_rss_bytes", "peak memory in bytes", 0, -1)
	add("peak_device_bytes", "peak memory of the device in bytes", 0, -1)
	return slices.DeleteFunc(all, func(m measure) bool {
		return !slices.ContainsFunc(runs, func(t *trained) bool { return !math.IsNaN(m.of(t)) })
	})
}

// seen is the measure of words that training has seen a number of times.
func seen(text string, b score.FrequencyBucket) string {
	return "test." + text + ".nll.seen." + b.Name()
}

// count gathers the numbers of runs by the names of measures: those of results.json, of the kept evaluations and of the
// models, and what follows from them.
func count(runs []*trained) error {
	anyProbabilistic := slices.ContainsFunc(runs, (*trained).probabilistic)
	for _, t := range runs {
		t.numbers = map[string]float64{}
		found := map[string]any{"": t.results}
		for with, e := range t.evaluations {
			found[with+"."] = e
		}
		for with, value := range found {
			if err := t.flattenNumbers(value, with); err != nil {
				return err
			}
		}
		t.numbers["best.step"], t.numbers["seconds_per_update"] = t.bestStep(), t.seconds(1)
		if t.model != nil {
			for name, x := range t.model.Numbers {
				t.numbers[name] = x.Value()
			}
			for text := range t.model.Buckets {
				for i, x := range t.lossByFrequency(text) {
					t.numbers[seen(text, score.FrequencyBuckets()[i])] = x
				}
			}
		}
		if anyProbabilistic && !t.probabilistic() { // nats of a density are no nats of a probability
			delete(t.numbers, "valid.nll")
			for text := range t.results.Test {
				delete(t.numbers, "test."+text+".nll")
			}
		}
	}
	return nil
}

// flattenNumbers adds the numbers of a value's JSON by their dotted names, with a text before the last part.
func (t *trained) flattenNumbers(value any, with string) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return files.Plain(err)
	}
	flatten(tree, "", func(name string, value any) {
		if x, ok := value.(float64); ok {
			last := strings.LastIndexByte(name, '.') + 1
			t.numbers[name[:last]+with+name[last:]] = x
		}
	})
	return nil
}

// probabilistic says whether a run gives words probabilities, so that its loss has a perplexity.
func (t *trained) probabilistic() bool { return !math.IsNaN(t.results.Valid.PPL.Value()) }

// summary is a measure over the seeds of a row.
type summary struct {
	measure                   measure
	values                    []float64 // by run; NaN where it has none
	mean, deviation, low, top float64   // deviation: of the sample, NaN with one seed
	difference                significance.Contrast
	common                    int     // seeds that the control has too
	holm                      float64 // the difference's p, corrected for the number of rows
	// the true difference found in the share power of all experiments; NaN with one seed
	detectable float64
}

// summary sums a row up.
func (m measure) summary(r, control *row) summary {
	s := summary{measure: m, mean: math.NaN(), deviation: math.NaN(), low: math.NaN(), top: math.NaN(),
		holm: math.NaN()}
	var known []float64
	for _, t := range r.runs {
		x := m.of(t)
		s.values = append(s.values, x)
		if !math.IsNaN(x) {
			known = append(known, x)
		}
		if other := control.seed(t.results.Seed); other != nil && r != control {
			if !math.IsNaN(x - m.of(other)) {
				s.common++
			}
		}
	}
	if len(known) > 0 {
		s.mean, s.low, s.top = stat.Mean(known, nil), floats.Min(known), floats.Max(known)
	}
	if len(known) > 1 {
		s.deviation = stat.StdDev(known, nil)
	}
	return s
}

// summaries are those of all rows, by measure, each row set against the control by one linear model.
func summaries(rows []*row, all []measure) [][]summary {
	table := make([][]summary, len(all))
	for i, m := range all {
		fit := m.fit(rows)
		ps := make([]float64, len(rows))
		for k, r := range rows {
			s := m.summary(r, rows[0])
			s.difference = fit.Contrasts[k]
			ps[k] = s.difference.P
			table[i] = append(table[i], s)
		}
		tests := 0
		for k, p := range significance.Holm(ps) {
			if table[i][k].holm = p; !math.IsNaN(p) {
				tests++
			}
		}
		for k := range table[i] {
			d := table[i][k].difference
			table[i][k].detectable = significance.Detectable(d.Error, d.Freedom, 0.05/float64(tests), power)
		}
	}
	return table
}

// fit is the linear model of a measure over rows and seeds, with a contrast for each row.
func (m measure) fit(rows []*row) significance.Fit {
	return significance.Linear(m.bySeed(rows), 0, 0.05)
}

// bySeed are the scores of each row with each seed that any row has, in the order of seeds; NaN where one has none.
func (m measure) bySeed(rows []*row) [][]float64 {
	var seeds []int64
	for _, r := range rows {
		seeds = append(seeds, r.seeds()...)
	}
	slices.Sort(seeds)
	seeds = slices.Compact(seeds)
	scores := make([][]float64, len(rows))
	for k, r := range rows {
		for _, seed := range seeds {
			x := math.NaN()
			if t := r.seed(seed); t != nil {
				x = m.of(t)
			}
			scores[k] = append(scores[k], x)
		}
	}
	return scores
}

// power is the share of experiments that are to find a difference of the size that is called detectable, at 0.05 for
// all rows together.
const power = 0.8

// needed prints how many seeds rows need for a difference of each test score to be found.
func (c *comparison) needed(w io.Writer, difference float64) error {
	found := false
	for _, text := range tests(c.control().runs) {
		name := c.testScore(text)
		if name == "" {
			continue
		}
		i, rows := c.index(name), 0
		m := c.measures[i]
		for _, s := range c.scores[i] {
			if !math.IsNaN(s.mean) {
				rows++
			}
		}
		fit := m.fit(c.rows)
		if fit.Freedom < 1 || rows < 2 {
			continue
		}
		found = true
		for _, of := range []struct {
			what  string
			tests int
		}{{"one comparison", 1}, {fmt.Sprintf("%d, corrected", rows-1), rows - 1}}[:min(2, rows-1)] {
			seeds := significance.Seeds(difference, fit, rows, 0.05/float64(of.tests), power)
			number := strconv.Itoa(seeds)
			if seeds == 0 {
				number = "more than 100,000"
			}
			if _, err := fmt.Fprintf(w, "%s: %s seeds a row find a difference of %v in %.0f of 100 experiments (%s; "+
				"deviation %s, %d degrees of freedom)\n", m.title, number, difference, 100*power, of.what,
				fixed(fit.Deviation, m.digits+1),
				fit.Freedom); err != nil {
				return err
			}
		}
	}
	if !found {
		return errors.New("-power goes by how far seeds lie apart: there must be two rows with a test score, and one " +
			"of them needs two seeds")
	}
	return nil
}
