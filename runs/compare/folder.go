package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/score"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// trained is a finished run.
type trained struct {
	folder  string
	data    record.Data
	keys    map[string]string // the configuration, by dotted name, as TOML values
	stated  map[string]string // the defaults of these, as far as its file states them
	results *record.Results
	records []report.Record
	// evaluations are those that runs/evaluate kept: record.Evaluations.
	evaluations map[string]*record.Evaluation
	numbers     map[string]float64        // by the names of measures
	model       *record.Model             // nil where it was not opened
	counts      map[string]*score.Counted // of its outputs, by test text
	machine     string                    // that it ran on, in words; empty where env.json is gone
	changed     []string                  // files of its code with changes that are in no commit
}

// find gives the run folders that are named, or that lie within those that are named, one below the other at most two
// deep. Each comes once, also where links name it again.
func find(paths []string) (folders []string, err error) {
	seen := map[string]bool{}
	for _, path := range paths {
		found := []string{path}
		if _, err := os.Stat(filepath.Join(path, keys.File)); err != nil {
			if _, err := os.Stat(path); err != nil {
				return nil, cmp.Or(files.NoFolder(path), err)
			}
			found = nil
			for _, pattern := range []string{"*/", "*/*/"} { // the folder's name is no pattern
				configs, err := fs.Glob(os.DirFS(path), pattern+keys.File)
				if err != nil {
					return nil, err
				}
				for _, c := range configs {
					found = append(found, filepath.Join(path, filepath.Dir(c)))
				}
			}
			if len(found) == 0 {
				return nil, fmt.Errorf("%s holds no run: name folders that training runs wrote, or a folder of such",
					path)
			}
		}
		for _, f := range found {
			real, err := filepath.EvalSymlinks(f)
			if err != nil {
				return nil, err
			}
			if !seen[real] {
				seen[real] = true
				folders = append(folders, f)
			}
		}
	}
	return folders, nil
}

// load reads the runs of folders; log gets a line for each that has not finished.
func load(folders []string, log io.Writer) ([]*trained, error) {
	var all []*trained
	for _, folder := range folders {
		r, err := read(folder)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(log, "%s is left out: it has no results.json, so that it has not finished\n", folder)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, with := range record.Evaluations {
			e, err := record.ReadEvaluation(folder, with)
			if err != nil {
				fmt.Fprintf(log, "an evaluation is left out: %v\n", err)
			} else if e != nil {
				r.evaluations[with] = e
			}
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, errors.New("none of these runs has finished: there is nothing to compare")
	}
	fill(all)
	return all, nil
}

// schema are the keys of a configuration that compare itself goes by.
var schema = keys.New[struct {
	Data record.Data `toml:"data"`
}]("")

func read(folder string) (*trained, error) {
	r := &trained{folder: folder, evaluations: map[string]*record.Evaluation{}, keys: map[string]string{},
		stated: map[string]string{}}
	var err error
	if r.results, err = record.Read(folder); err != nil {
		return nil, err
	}
	c, err := schema.ReadFolder(folder)
	if err == nil {
		err = checkpoint.SameRun(schema, &c, "", folder)
	}
	if err != nil {
		return nil, err
	}
	r.data = c.Data
	path := filepath.Join(folder, keys.File)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	tree, err := keys.Parse(string(text), path)
	if err != nil {
		return nil, err
	}
	flatten(tree, "", func(name string, value any) { r.keys[name] = asText(value) })
	flatten(keys.Stated(string(text)), "", func(name string, value any) { r.stated[name] = asText(value) })
	if r.records, err = report.ReadRecords(filepath.Join(folder, record.MetricsFile)); err != nil {
		return nil, err
	}
	var env record.Env
	switch err := files.ReadJSON(filepath.Join(folder, record.EnvFile), &env); {
	case err == nil:
		r.changed = env.Changed
		r.machine = strings.Join([]string{env.CPU, env.ISA, env.Device}, ", ")
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: put the run's own file back, or remove it, and its machine is unknown", err)
	}
	return r, nil
}

// fill gives each run the keys that are newer than its program: they had their defaults then, as the newer files state
// them.
func fill(runs []*trained) {
	for _, r := range runs {
		for _, other := range runs {
			for name, value := range other.stated {
				if _, there := r.keys[name]; !there && r.translates() == other.translates() {
					r.keys[name] = value
				}
			}
		}
	}
}

// translates says whether the run trained a translator, and no language model.
func (t *trained) translates() bool { return t.keys["data.source"] != "" }

// bestStep is the update after which the checkpoint that was tested was saved. Its name tells it where results.json is
// older than best.
func (t *trained) bestStep() float64 {
	if step := t.results.Best.Step; step != 0 {
		return float64(step)
	}
	name, _ := strings.CutPrefix(string(t.results.Checkpoint), "step-")
	step, err := strconv.ParseFloat(name, 64)
	if err != nil {
		return math.NaN()
	}
	return step
}

// flatten gives a tree's values with their dotted names.
func flatten(tree map[string]any, prefix string, give func(name string, value any)) {
	for name, value := range tree {
		if table, ok := value.(map[string]any); ok {
			flatten(table, prefix+name+".", give)
		} else {
			give(prefix+name, value)
		}
	}
}

// asText is a key's value as JSON, in which numbers, texts and lists look as in TOML.
func asText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// seconds are those of training for the given number of updates, which are taken to have lasted alike.
func (r *trained) seconds(step float64) float64 {
	if r.results.Updates == 0 {
		return math.NaN()
	}
	return step * r.results.TrainSeconds.Value() / float64(r.results.Updates)
}

// tests are the names of the test texts, sorted.
func tests(runs []*trained) (names []string) {
	for _, r := range runs {
		for name := range r.results.Test {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}
