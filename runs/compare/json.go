package main

import (
	"encoding/json"
	"io"
	"math"

	"github.com/aperture-ml/aperture/runs/compare/significance"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// The objects of -json. Numbers that are not defined are null.
type (
	jsonComparison struct {
		Control  string     `json:"control"`
		Rows     []jsonRow  `json:"rows"`
		Isotropy []relation `json:"isotropy"`

		Origin      string `json:"origin"`
		Uncommitted string `json:"uncommitted,omitempty"`
	}
	jsonRow struct {
		Name     string               `json:"name"`
		Method   string               `json:"method"`
		Settings string               `json:"settings"` // of the objective, where they differ from the control's
		Seeds    []int64              `json:"seeds"`
		Folders  []string             `json:"folders"`
		Notes    []string             `json:"not_alike"`
		Scores   map[string]jsonScore `json:"scores"`
		Tests    map[string]jsonTest  `json:"tests"`  // by test text; of the control none
		Curves   []record.Curves      `json:"curves"` // by run, of those whose model was opened
	}
	jsonScore struct {
		Mean      record.Number   `json:"mean"`
		Deviation record.Number   `json:"standard_deviation"`
		Low       record.Number   `json:"min"`
		High      record.Number   `json:"max"`
		Values    []record.Number `json:"values"` // by seed
		T         *jsonT          `json:"difference"`
	}
	// jsonT is a mean difference with its 95 % interval and p, of how many blocks it is, or how many seeds both rows
	// have (the test over seeds uses those of one row as well), and, over seeds, the degrees of freedom and what they
	// can see.
	jsonT struct {
		Mean record.Number `json:"mean"`
		Low  record.Number `json:"low"`
		High record.Number `json:"high"`
		P    record.Number `json:"p"`
		Holm record.Number `json:"p_holm"`
		N    int           `json:"n"`

		Freedom    *record.Number `json:"degrees_of_freedom,omitempty"`
		Detectable *record.Number `json:"detectable,omitempty"`
	}
	jsonTest struct {
		Seeds []int64    `json:"seeds"`
		BLEU  *jsonPair  `json:"bleu"` // the seeds' outputs pooled
		Both  *jsonT     `json:"bleu_over_seeds_and_sentences,omitempty"`
		Each  []jsonPair `json:"bleu_by_seed"`
		Loss  *jsonT     `json:"nll_by_block"`
	}
	jsonPair struct {
		Seed          *int64        `json:"seed,omitempty"`
		Signature     string        `json:"signature"`
		Segments      int           `json:"segments,omitempty"`
		Control       record.Number `json:"control"`
		Row           record.Number `json:"row"`
		Low           record.Number `json:"difference_low"`
		High          record.Number `json:"difference_high"`
		OneTailed     record.Number `json:"p_bootstrap"` // as sacreBLEU computes it
		P             record.Number `json:"p_bootstrap_two_sided"`
		Holm          record.Number `json:"p_bootstrap_holm"` // of the two-sided one
		Randomisation record.Number `json:"p_randomisation"`
		HolmAR        record.Number `json:"p_randomisation_holm"`
	}
)

func number(x float64) record.Number { return record.Num(x) }

func jsonOf(t significance.T, holm float64) *jsonT {
	if t.N == 0 {
		return nil
	}
	return &jsonT{Mean: number(t.Mean), Low: number(t.Low), High: number(t.High), P: number(t.P), Holm: number(holm),
		N: t.N}
}

func pairOf(p significance.Paired, ar float64) jsonPair {
	return jsonPair{Signature: p.System.Signature(), Control: number(p.Baseline.Score), Row: number(p.System.Score),
		Low: number(p.Low), High: number(p.High),
		P: number(p.P), OneTailed: number(p.OneTailed), Randomisation: number(ar)}
}

func (c *comparison) json(w io.Writer) error {
	out := jsonComparison{Control: c.control().name, Isotropy: c.relations(), Origin: c.origin(),
		Uncommitted: c.uncommitted()}
	for k, r := range c.rows {
		row := jsonRow{Name: r.name, Method: r.method(), Settings: r.settings(c.control()), Seeds: r.seeds(),
			Notes:  append([]string{}, r.notes...),
			Scores: map[string]jsonScore{}, Tests: map[string]jsonTest{}}
		for _, t := range r.runs {
			row.Folders = append(row.Folders, t.folder)
			if t.model != nil {
				row.Curves = append(row.Curves, t.model.Curves)
			}
		}
		for i, m := range c.measures {
			s := c.scores[i][k]
			var difference *jsonT
			if d := s.difference; !math.IsNaN(d.Estimate) {
				seen, freedom := number(s.detectable), number(d.Freedom)
				difference = &jsonT{Mean: number(d.Estimate), Low: number(d.Low), High: number(d.High), P: number(d.P),
					Holm: number(s.holm), N: s.common, Freedom: &freedom, Detectable: &seen}
			}
			row.Scores[m.name] = jsonScore{number(s.mean), number(s.deviation), number(s.low), number(s.top),
				record.Nums(s.values), difference}
		}
		for _, t := range c.texts[k] {
			test := jsonTest{Seeds: t.Seeds, Loss: jsonOf(t.Loss, t.HolmLoss)}
			if t.Segments > 0 {
				pooled := pairOf(t.BLEU, t.PAR)
				pooled.Segments, pooled.Holm, pooled.HolmAR = t.Segments, number(t.HolmBLEU), number(t.HolmAR)
				test.BLEU = &pooled
				if b := t.Both; !math.IsNaN(b.P) {
					freedom := number(b.Freedom)
					test.Both = &jsonT{Mean: number(b.Estimate), Low: number(b.Low), High: number(b.High),
						P:    number(b.P),
						Holm: number(t.HolmBoth), N: len(t.Each), Freedom: &freedom}
				}
			}
			for _, e := range t.Each {
				pair := pairOf(e.Pair, e.PAR)
				pair.Seed = &e.Seed
				test.Each = append(test.Each, pair)
			}
			row.Tests[t.Text] = test
		}
		out.Rows = append(out.Rows, row)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}
