package main

import (
	"math"
	"slices"

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
	of     func(t *trained) float64
}

// numbersOf are the numbers that any of the runs has.
func numbersOf(runs []*trained) (all []measure) {
	add := func(m measure) {
		for _, t := range runs {
			if !math.IsNaN(m.of(t)) {
				all = append(all, m)
				return
			}
		}
	}
	number := func(name, title string, digits, better int, of func(r *record.Results) record.Number) {
		add(measure{name, title, digits, better, func(t *trained) float64 { return of(t.results).Value() }})
	}
	number("valid.nll", "valid nll", 4, -1, func(r *record.Results) record.Number { return sameScale(runs, r, r.Valid.NLL) })
	number("valid.ppl", "valid ppl", 2, -1, func(r *record.Results) record.Number { return r.Valid.PPL })
	texts := tests(runs)
	short := func(text string) string {
		if len(texts) == 1 {
			return "test"
		}
		return text
	}
	for _, text := range texts {
		for _, s := range []struct {
			name           string
			digits, better int
			of             func(s record.TestScores) record.Number
		}{
			{"nll", 4, -1, func(s record.TestScores) record.Number { return s.NLL }},
			{"ppl", 2, -1, func(s record.TestScores) record.Number { return s.PPL }},
			{"bleu", 2, 1, func(s record.TestScores) record.Number { return s.BLEU }},
			{"bleu_tok", 2, 1, func(s record.TestScores) record.Number { return s.BLEUTok }},
			{"chrf", 2, 1, func(s record.TestScores) record.Number { return s.ChrF }},
		} {
			title := map[string]string{"nll": "nll", "ppl": "ppl", "bleu": "BLEU", "bleu_tok": "tokenised BLEU", "chrf": "chrF"}[s.name]
			number("test."+text+"."+s.name, short(text)+" "+title, s.digits, s.better, func(r *record.Results) record.Number {
				if s.name == "nll" {
					return sameScale(runs, r, r.Test[text].NLL)
				}
				return s.of(r.Test[text])
			})
		}
	}
	for _, with := range record.Evaluations {
		evaluated := func(name, title string, digits int, of func(e *record.Evaluation) record.Number) {
			add(measure{name, title, digits, -1, func(t *trained) float64 {
				if e := t.evaluations[with]; e != nil {
					return of(e).Value()
				}
				return math.NaN()
			}})
		}
		evaluated("valid."+with+".ppl", "valid ppl, "+with, 2, func(e *record.Evaluation) record.Number { return e.Valid.PPL })
		for _, text := range texts {
			evaluated("test."+text+"."+with+".nll", short(text)+" nll, "+with, 4, func(e *record.Evaluation) record.Number { return e.Test[text].NLL })
			evaluated("test."+text+"."+with+".ppl", short(text)+" ppl, "+with, 2, func(e *record.Evaluation) record.Number { return e.Test[text].PPL })
		}
	}
	number("isotropy.i1", "I1", 3, 0, func(r *record.Results) record.Number { return r.Isotropy.I1 })
	number("isotropy.i2", "I2", 4, 0, func(r *record.Results) record.Number { return r.Isotropy.I2 })
	number("isotropy.mean_cosine", "mean cosine", 4, 0, func(r *record.Results) record.Number { return r.Isotropy.MeanCosine })
	number("isotropy.sigma_ratio", "smallest / largest singular value", 4, 0, func(r *record.Results) record.Number { return r.Isotropy.SigmaRatio })
	number("isotropy.frobenius", "Frobenius norm", 1, 0, func(r *record.Results) record.Number { return r.Isotropy.Frobenius })
	for _, m := range modelMeasures {
		m.of = func(t *trained) float64 {
			if t.model != nil {
				return t.model.Numbers[m.name].Value()
			}
			return math.NaN()
		}
		add(m)
	}
	for _, text := range texts {
		for i, bucket := range score.FrequencyBuckets() {
			add(measure{"test." + text + ".nll.seen." + bucket.Name(), short(text) + " nll, words seen " + bucket.Name() + " times", 4, -1, func(t *trained) float64 {
				if losses := t.lossByFrequency(text); losses != nil {
					return losses[i]
				}
				return math.NaN()
			}})
		}
	}
	number("params", "parameters", 0, 0, func(r *record.Results) record.Number { return record.Num(r.Params) })
	number("updates", "updates", 0, 0, func(r *record.Results) record.Number { return record.Num(r.Updates) })
	add(measure{"best.step", "updates to best", 0, -1, (*trained).bestStep})
	number("best.seconds", "seconds to best", 0, -1, func(r *record.Results) record.Number { return r.Best.Seconds })
	number("train_seconds", "seconds of training", 0, -1, func(r *record.Results) record.Number { return r.TrainSeconds })
	add(measure{"seconds_per_update", "seconds an update", 4, -1, func(t *trained) float64 { return t.seconds(1) }})
	number("tokens_per_s", "tokens a second", 0, 1, func(r *record.Results) record.Number { return r.TokensPerS })
	number("peak_rss_bytes", "peak memory in bytes", 0, -1, func(r *record.Results) record.Number { return r.PeakRSSBytes })
	number("peak_device_bytes", "peak memory of the device in bytes", 0, -1, func(r *record.Results) record.Number { return r.PeakDeviceBytes })
	return all
}

// probabilistic says whether a run gives words probabilities, so that its loss has a perplexity.
func probabilistic(r *record.Results) bool { return !math.IsNaN(r.Valid.PPL.Value()) }

// sameScale is a loss, but for that of a density among those of probabilities: nats of the one are no nats of the other.
func sameScale(runs []*trained, r *record.Results, loss record.Number) record.Number {
	if !probabilistic(r) && slices.ContainsFunc(runs, func(t *trained) bool { return probabilistic(t.results) }) {
		return record.Number{}
	}
	return loss
}

// summary is a measure over the seeds of a row.
type summary struct {
	measure                   measure
	values                    []float64 // by run; NaN where it has none
	mean, deviation, low, top float64   // deviation: of the sample, NaN with one seed
	difference                significance.T
	holm                      float64 // the difference's p, corrected for the number of rows
	detectable                float64 // the difference that would have been found, as detectable says; NaN with one seed
}

// summary sums a row up, and sets it against the control seed by seed.
func (m measure) summary(r, control *row) summary {
	s := summary{measure: m, mean: math.NaN(), deviation: math.NaN(), low: math.NaN(), top: math.NaN(), holm: math.NaN()}
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

// detectable sets what difference to the control so many seeds can see: the one that a paired t test over them finds in the share
// power of all experiments, at 0.05 for all rows together. A few differences tell their spread badly, so that of all rows is pooled.
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
		scores[k].detectable = significance.Detectable(math.Sqrt(squares/float64(freedom)), scores[k].difference.N, 0.05/float64(tests), power)
	}
}
