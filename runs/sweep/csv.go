package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// csv writes a line for each trial that has ended: its settings, validation scores, rank within its method from 1, and
// what it ran on. What is not known is empty, as are keys that the method does not search, and the rank of a trial that
// halving has left behind.
func (w *sweep) csv(out io.Writer) error {
	going, err := w.standing()
	if err != nil {
		return err
	}
	var searched []string
	for _, t := range w.list {
		for _, s := range t.point {
			if !slices.Contains(searched, s.key) {
				searched = append(searched, s.key)
			}
		}
	}
	lines := [][]string{slices.Concat([]string{"trial", "method", "seed"}, searched, []string{"valid_loss",
		"valid_bleu", "rank", "updates", "train_seconds", "device", "isa", "commit", "failed"})}
	for _, m := range w.Methods {
		ranked, err := w.ranked(going, m)
		if err != nil {
			return err
		}
		for _, t := range of(w.list, m) {
			o, err := w.lookAt(w.trialFolder(t))
			if err != nil {
				return err
			}
			if !o.finished && o.failed == "" {
				continue
			}
			line := []string{t.name(), m, fmt.Sprint(t.seed)}
			for _, key := range searched {
				value := ""
				if i := slices.IndexFunc(t.point, func(s setting) bool { return s.key == key }); i >= 0 {
					value = t.point[i].value
				}
				line = append(line, value)
			}
			rank, updates, seconds := "", "", ""
			if at := slices.IndexFunc(ranked, func(r trial) bool { return r.name() == t.name() }); at >= 0 {
				rank = strconv.Itoa(at + 1)
			}
			var env record.Env
			path := filepath.Join(w.trialFolder(t), record.EnvFile)
			if err := files.ReadJSON(path, &env); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if o.finished {
				updates, seconds = fmt.Sprint(o.updates), strconv.FormatFloat(o.seconds, 'f', 0, 64)
			}
			lines = append(lines, append(line, known(o.loss), known(o.bleu), rank, updates, seconds, env.Device, env.ISA,
				string(env.Code.Commit), o.failed))
		}
	}
	return csv.NewWriter(out).WriteAll(lines)
}

// known is a number, and nothing for none.
func known(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
