package main

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

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
	add("isotropy.mean_cosine", "mean cosine", 4, 0)
	add("isotropy.sigma_ratio", "smallest / largest singular value", 4, 0)
	add("isotropy.frobenius", "Frobenius norm", 1, 0)
	all = append(all, modelMeasures...)
	for _, text := range texts {
		for _, bucket := range score.FrequencyBuckets() {
			add(seen(text, bucket), short(text)+" nll, words seen "+bucket.Name()+" times", 4, -1)
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
		return err
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
	difference                significance.T
	holm                      float64 // the difference's p, corrected for the number of rows
	detectable                float64 // difference; see detectable; NaN with one seed
}

// summary sums a row up, and sets it against the control seed by seed.
func (m measure) summary(r, control *row) summary {
	s := summary{measure: m, mean: math.NaN(), deviation: math.NaN(), low: math.NaN(), top: math.NaN(),
		holm: math.NaN()}
	var known, differences []float64
	for _, t := range r.runs {
		x := m.of(t)
		s.values = append(s.values, x)
		if !math.IsNaN(x) {
			known = append(known, x)
		}
		if other := control.seed(t.results.Seed); other != nil && r != control {
			if d := x - m.of(other); !math.IsNaN(d) {
				differences = append(differences, d)
			}
		}
	}
	if len(known) > 0 {
		s.mean, s.low, s.top = stat.Mean(known, nil), floats.Min(known), floats.Max(known)
	}
	if len(known) > 1 {
		s.deviation = stat.StdDev(known, nil)
	}
	s.difference = significance.PairedT(differences)
	return s
}

// summaries are those of all rows, by measure, with their p values corrected.
func summaries(rows []*row, all []measure) [][]summary {
	table := make([][]summary, len(all))
	for i, m := range all {
		ps := make([]float64, len(rows))
		for k, r := range rows {
			table[i] = append(table[i], m.summary(r, rows[0]))
			ps[k] = table[i][k].difference.P
		}
		for k, p := range significance.Holm(ps) {
			table[i][k].holm = p
		}
		detectable(table[i])
	}
	return table
}

// power is the share of experiments that are to find a difference of the size that is called detectable.
const power = 0.8

// detectable sets the difference to the control that a paired t test over the seeds finds in the share power of all
// experiments, at 0.05 for all rows together. A few differences tell their spread badly: that of all rows is pooled.
func detectable(scores []summary) {
	squares, freedom, tests := 0.0, 0, 0
	for _, s := range scores {
		if n := s.difference.N; n > 1 {
			squares += s.difference.Deviation * s.difference.Deviation * float64(n-1)
			freedom += n - 1
			tests++
		}
	}
	for k := range scores {
		scores[k].detectable = significance.Detectable(math.Sqrt(squares/float64(freedom)), scores[k].difference.N,
			0.05/float64(tests), power)
	}
}
