package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/aperture-ml/aperture/runs/compare/significance"
	"github.com/aperture-ml/aperture/tokenize/score"
)

// comparison is what -json prints of a paired test.
type comparison struct {
	Metric   string  `json:"metric"`
	Baseline float64 `json:"baseline"`
	System   float64 `json:"system"`
	P        float64 `json:"p"` // of the paired bootstrap, as sacreBLEU computes it: one-tailed
	TwoSided float64 `json:"p_two_sided"`
	Low      float64 `json:"low"` // to high: 95 % interval of the difference
	High     float64 `json:"high"`
	PAR      float64 `json:"p_randomisation"`
}

// compareWith tests hypotheses against a baseline's by paired bootstrap resampling and approximate randomisation.
func (r request) compareWith(hyps []string, refs [][]string, out, errw io.Writer) error {
	if len(r.metrics) == 0 {
		return errors.New("-compare resamples the metrics of -metric, and -multi-bleu is none of them: leave it out")
	}
	baseline, err := r.readFile(r.Baseline, "baseline")
	if err != nil {
		return err
	}
	if len(baseline) != len(hyps) {
		return fmt.Errorf("%s has %d lines and standard input %d: a paired test needs both systems' translations of "+
			"the same lines", r.Baseline, len(baseline), len(hyps))
	}
	var all []comparison
	for _, metric := range r.metrics {
		base, err := score.Count(metric, baseline, refs)
		if err != nil {
			return err
		}
		system, err := score.Count(metric, hyps, refs)
		if err != nil {
			return err
		}
		found := significance.Bootstrap(base, system, 0, 0)
		if math.IsNaN(found.P) {
			return errors.New("a paired test resamples lines, and there is one: give more lines")
		}
		before, after := found.Baseline.Score, found.System.Score
		if _, bleu := metric.(score.BLEUOptions); bleu && max(before, after) < score.NearZero {
			fmt.Fprintf(errw, "score: both BLEU are below %d: neither system translates, and p does not make one the "+
				"better\n", score.NearZero)
		}
		all = append(all, comparison{
			found.System.Name + "|" + found.System.Signature(), before, after, found.OneTailed, found.P, found.Low,
			found.High,
			significance.Randomisation(base, system, 0, 0),
		})
	}
	if r.JSON {
		return printJSON(out, all)
	}
	for _, c := range all {
		if _, err := fmt.Fprintf(out, "%s: baseline %.2f, hypotheses %.2f, difference %+.2f (95 %% within %+.2f to "+
			"%+.2f), p = %.4f (paired bootstrap, %d resamples; %.4f one-tailed, as sacreBLEU), p = %.4f "+
			"(approximate randomisation, %d trials)\n",
			c.Metric, c.Baseline, c.System, c.System-c.Baseline, c.Low, c.High, c.TwoSided, score.DefaultSamples, c.P,
			c.PAR, significance.DefaultTrials); err != nil {
			return err
		}
	}
	return nil
}

// frequencyRow is what -json prints of one range of frequencies.
type frequencyRow struct {
	Name      string   `json:"name"` // as the table has it: "5-9"
	Low       int      `json:"low"`
	High      *int     `json:"high"` // null: no limit
	Reference int      `json:"reference"`
	Output    int      `json:"output"`
	Matches   int      `json:"matches"`
	Precision *float64 `json:"precision"` // null, as recall and F1: there is no word to compute it of
	Recall    *float64 `json:"recall"`
	F1        *float64 `json:"f1"`
}

// byFrequency prints the F1 of words by how often the training text has them.
func (r request) byFrequency(hyps []string, refs [][]string, out io.Writer) error {
	if len(refs) != 1 {
		return fmt.Errorf("-f1-train compares with one file of references, and -ref names %d", len(refs))
	}
	training, err := r.readFile(r.Training, "training text")
	if err != nil {
		return err
	}
	buckets, err := score.WordF1(hyps, refs[0], score.WordCounts(training))
	if err != nil {
		return err
	}
	var rows []frequencyRow
	var table strings.Builder
	fmt.Fprintf(&table, "%-10s %10s %10s %10s %10s %10s\n", "frequency", "reference", "output", "precision", "recall",
		"F1")
	for _, b := range buckets {
		row := frequencyRow{Name: b.Name(), Low: b.Low, Reference: b.Reference, Output: b.Output, Matches: b.Matches}
		if b.High >= 0 {
			row.High = &b.High
		}
		fmt.Fprintf(&table, "%-10s %10d %10d", row.Name, b.Reference, b.Output)
		for _, part := range []struct {
			to    **float64
			value float64
		}{{&row.Precision, b.Precision()}, {&row.Recall, b.Recall()}, {&row.F1, b.F1()}} {
			text := "-"
			if !math.IsNaN(part.value) {
				*part.to, text = &part.value, fmt.Sprintf("%.4f", part.value)
			}
			fmt.Fprintf(&table, " %10s", text)
		}
		table.WriteByte('\n')
		rows = append(rows, row)
	}
	if r.JSON {
		return printJSON(out, rows)
	}
	_, err = io.WriteString(out, table.String())
	return err
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
