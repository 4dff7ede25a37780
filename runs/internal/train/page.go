package train

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
)

// page is the report of a finished run.
func (t *trainer) page(r *record.Results, bleu *float64, doubt string) (*report.Page, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	data := r.Data.Name
	if r.Data.Synthetic {
		data += " (the built-in sample)"
	}
	valid := record.TestScores{NLL: r.Valid.NLL, PPL: r.Valid.PPL, AnyUnits: r.Valid.AnyUnits}
	about := fields("data", data+": "+t.task.corpus(), "preset", r.Preset, "seed", fmt.Sprint(r.Seed),
		"commit", commit(r.Code, t.run.Env.Changed), "best checkpoint", string(r.Checkpoint))
	if bleu != nil {
		valid.BLEUTok = record.Num(*bleu)
		about = append(fields("validation BLEU, tokenised", show(valid.BLEUTok, 2)), about...)
	}
	best := fmt.Sprintf("%d, %s, %s", r.Best.Step, show(r.Best.Epoch, 2), show(r.Best.Seconds, 0))
	p := &report.Page{
		Title: r.Run + ": " + r.Method, Doubt: doubt, Run: about, Scores: scoreTable(r, valid),
		Matrix: fields(
			"isotropy I1 (1 is best)", show(r.Isotropy.I1, 3),
			"isotropy I2 (0 is best)", show(r.Isotropy.I2, 4),
			"mean cosine", show(r.Isotropy.MeanCosine, 4),
			"share of the mean word vector in the squares", show(r.Isotropy.MeanShare, 4),
			"IsoScore (1 is isotropic)", show(r.Isotropy.IsoScore, 3),
			"smallest / largest singular value", show(r.Isotropy.SigmaRatio, 4),
			"Frobenius norm", show(r.Isotropy.Frobenius, 1),
		),
		Course: fields(
			"parameters", fmt.Sprint(r.Params), "updates", fmt.Sprint(r.Updates), "epochs", show(r.Epochs, 2),
			"seconds of training", show(r.TrainSeconds, 0), "target tokens a second", show(r.TokensPerS, 0),
			"updates, epochs and seconds to the best validation", best,
			"most memory, MiB", fmt.Sprintf("%.0f", r.PeakRSSBytes.Value()/(1<<20)),
		),
		Samples: t.task.samples(), Results: string(text), Config: t.config.TOML(),
	}
	return p, nil
}

func fields(of ...string) (all []report.Field) {
	for i := 0; i < len(of); i += 2 {
		all = append(all, report.Field{Name: of[i], Value: of[i+1]})
	}
	return all
}

// scoreTable has a row for each text and a column for each score that any has.
func scoreTable(r *record.Results, valid record.TestScores) report.Table {
	columns := []struct {
		name   string
		digits int
		of     func(s record.TestScores) record.Number
	}{
		{"BLEU (sacreBLEU)", 2, func(s record.TestScores) record.Number { return s.BLEU }},
		{"BLEU, tokenised", 2, func(s record.TestScores) record.Number { return s.BLEUTok }},
		{"chrF", 2, func(s record.TestScores) record.Number { return s.ChrF }},
		{"perplexity", 2, func(s record.TestScores) record.Number { return s.PPL }},
		{"perplexity a word", 2, func(s record.TestScores) record.Number { return s.PPLWord }},
		{"bits a byte", 3, func(s record.TestScores) record.Number { return s.BitsByte }},
		{"nats per token", 4, func(s record.TestScores) record.Number { return s.NLL }},
	}
	all := []record.TestScores{valid}
	table := report.Table{Head: []string{""}, Rows: [][]string{{"validation"}}}
	for _, name := range slices.Sorted(maps.Keys(r.Test)) {
		all = append(all, r.Test[name])
		table.Rows = append(table.Rows, []string{name})
	}
	for _, column := range columns {
		if !slices.ContainsFunc(all, func(s record.TestScores) bool { return !math.IsNaN(column.of(s).Value()) }) {
			continue
		}
		table.Head = append(table.Head, column.name)
		for i, s := range all {
			table.Rows[i] = append(table.Rows[i], show(column.of(s), column.digits))
		}
	}
	return table
}

// show is a number with the given number of digits behind the point, or a dash.
func show(n record.Number, digits int) string {
	if math.IsNaN(n.Value()) {
		return "–"
	}
	return fmt.Sprintf("%.*f", digits, n.Value())
}

func commit(c record.Code, changed []string) string {
	switch {
	case c.Commit == "":
		return "not known"
	case len(changed) > 0:
		return string(c.Commit) + ", with uncommitted changes in " + strings.Join(changed, ", ")
	case c.Dirty != nil && *c.Dirty:
		return string(c.Commit) + ", with uncommitted changes"
	}
	return string(c.Commit)
}
