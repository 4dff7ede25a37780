package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// progress is what the screen says of a job that has ended.
func (w *sweep) progress(j job, o outcome, seconds float64) string {
	line := fmt.Sprintf("[%d/%d] %s: ", w.done, w.total, j.words)
	switch {
	case o.failed != "":
		line += "failed: " + o.failed
	case w.Score == "bleu":
		line += fmt.Sprintf("valid BLEU %.2f, loss %.4f", o.bleu, o.loss)
	default:
		line += fmt.Sprintf("valid loss %.4f", o.loss)
	}
	line += fmt.Sprintf("; %s", time.Duration(seconds*float64(time.Second)).Round(time.Second))
	if w.made > 0 && w.pending > 1e-9 {
		left := w.spent / w.made * w.pending / float64(w.Jobs)
		line += fmt.Sprintf(", about %s left", time.Duration(left*float64(time.Second)).Round(time.Second))
	}
	return line
}

// table says in Markdown how far each method is: its trials, its best in validation, and the chosen's scores over
// seeds.
func (w *sweep) table() (string, error) {
	going, err := w.standing()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| method | trials | failed | best valid %s | with | seeds | valid loss | test |\n", w.Score)
	b.WriteString("|---|---|---|---|---|---|---|---|\n")
	for _, m := range w.Methods {
		ended, failed := 0, 0
		for _, t := range of(w.list, m) {
			switch o, err := w.lookAt(w.trialFolder(t)); {
			case err != nil:
				return "", err
			case o.failed != "":
				ended, failed = ended+1, failed+1
			case o.finished:
				ended++
			}
		}
		row := []string{m, fmt.Sprintf("%d of %d", ended, w.left(0)), fmt.Sprint(failed), "–", "", "", "", ""}
		ranked, err := w.ranked(going, m)
		if err != nil {
			return "", err
		}
		if len(ranked) > 0 {
			best := ranked[0]
			o, err := w.lookAt(w.trialFolder(best))
			if err != nil {
				return "", err
			}
			row[3], row[4] = fmt.Sprintf("%.4f", o.valid(w.Score)), best.point.String()
			row[5], row[6], row[7] = w.overSeeds(best)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintf(&b, "\n%s search, chosen by the validation %s; control %s. Scores are means over seeds, "+
		"with their standard deviation.\n", w.Search, w.Score, w.Control)
	fmt.Fprintf(&b, "go run ./runs/compare %s compares what was chosen.\n", command.ShellLine(filepath.Join(w.folder, chosenDir)))
	return b.String(), nil
}

// writeTable writes the table into the sweep's folder. Jobs go on meanwhile, and none of them ends for a run that cannot
// be read now.
func (w *sweep) writeTable() error {
	table, err := w.table()
	if err != nil {
		fmt.Fprintf(w.log, "%s stays as it was: %v\n", tableFile, err)
		return nil
	}
	return files.Write(filepath.Join(w.folder, tableFile), []byte(table))
}

// overSeeds are the scores of the chosen over the seeds that have been tested.
func (w *sweep) overSeeds(best trial) (seeds, valid, test string) {
	var losses []float64
	scores := map[string][]float64{}
	for seed := range w.tested() {
		folder := w.chosen(best.method, seed)
		o, err := w.lookAt(folder)
		if err != nil || !o.tested {
			continue
		}
		if same, err := sameValues(folder, w.trialFolder(best), best.point); err != nil || !same {
			continue // of another choice
		}
		losses = append(losses, o.loss)
		for name, s := range o.test {
			switch {
			case s.BLEU != nil:
				scores[name+" BLEU"] = append(scores[name+" BLEU"], *s.BLEU)
			case s.PPL != nil:
				scores[name+" ppl"] = append(scores[name+" ppl"], *s.PPL)
			}
		}
	}
	if len(losses) == 0 {
		return "", "", ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		parts = append(parts, name+" "+spread(scores[name], 2))
	}
	return fmt.Sprint(len(losses)), spread(losses, 4), strings.Join(parts, ", ")
}

// spread is a mean with its standard deviation.
func spread(xs []float64, digits int) string {
	mean, deviation := stat.MeanStdDev(xs, nil)
	if len(xs) == 1 {
		return fmt.Sprintf("%.*f", digits, mean)
	}
	return fmt.Sprintf("%.*f ± %.*f", digits, mean, digits, deviation)
}
