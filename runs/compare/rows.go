package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// row are runs that differ in the seed alone.
type row struct {
	name  string
	hue   int        // number of its colour
	runs  []*trained // by rising seed
	notes []string   // why it is no fair comparison with the control; empty for one that is
}

func (r *row) method() string { return r.runs[0].results.Method }

// seed gives the run of a seed, or nil.
func (r *row) seed(seed int64) *trained {
	for _, t := range r.runs {
		if t.results.Seed == seed {
			return t
		}
	}
	return nil
}

func (r *row) seeds() (seeds []int64) {
	for _, t := range r.runs {
		seeds = append(seeds, t.results.Seed)
	}
	return seeds
}

// neutral are keys that change neither what is learnt nor how it is scored; a name that ends in a point stands for its
// section.
var neutral = []string{"train.seed", "preset", "checkpoint.", "report.", "data.dir", "data.name", "data.store", "train.device",
	"train.log_every"}

// own are keys of the method itself, and those that a method sets for itself.
func own(key string) bool { return strings.HasPrefix(key, "objective.") }

func isNeutral(key string) bool {
	return slices.ContainsFunc(neutral, func(n string) bool {
		return n == key || strings.HasSuffix(n, ".") && strings.HasPrefix(key, n)
	})
}

// identity is what tells one run's learning from another's, but for the seed: its keys that begin so, unless they are
// neutral, and its texts.
func (t *trained) identity(prefix string) string {
	var id strings.Builder
	for _, key := range slices.Sorted(maps.Keys(t.keys)) {
		if strings.HasPrefix(key, prefix) && !isNeutral(key) {
			value := t.keys[key]
			if key == "train.init" && value != `""` {
				value = "a run" // each seed may start from its own
			}
			fmt.Fprintf(&id, "%s = %s\n", key, value)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(t.results.Data.SHA256)) {
		fmt.Fprintf(&id, "%s %s\n", file, t.results.Data.SHA256[file])
	}
	return id.String()
}

// group makes rows, in the order in which their first runs were named.
func group(runs []*trained) ([]*row, error) {
	var rows []*row
	byKeys := map[string]*row{}
	for _, r := range runs {
		id := r.identity("")
		found := byKeys[id]
		if found == nil {
			found = &row{}
			byKeys[id] = found
			rows = append(rows, found)
		}
		if other := found.seed(r.results.Seed); other != nil {
			return nil, fmt.Errorf("%s and %s are the same run twice, with one seed and one configuration: name one "+
				"of them", other.folder, r.folder)
		}
		found.runs = append(found.runs, r)
	}
	for _, r := range rows {
		slices.SortFunc(r.runs, func(a, b *trained) int { return int(a.results.Seed - b.results.Seed) })
	}
	nameRows(rows)
	colour(rows)
	return rows, nil
}

// nameRows calls a row by its method, and by its program where there are several, and adds the keys by which rows of
// one method and program differ.
func nameRows(rows []*row) {
	program := func(r *row) string { return r.runs[0].results.Run }
	several := slices.ContainsFunc(rows, func(r *row) bool { return program(r) != program(rows[0]) })
	for _, r := range rows {
		var parts []string
		if several {
			parts = append(parts, "on "+program(r))
		}
		for _, key := range slices.Sorted(maps.Keys(r.runs[0].keys)) {
			differs := slices.ContainsFunc(rows, func(o *row) bool {
				return o.method() == r.method() && program(o) == program(r) &&
					o.runs[0].keys[key] != r.runs[0].keys[key]
			})
			if differs && !isNeutral(key) {
				parts = append(parts, fmt.Sprintf("%s=%s", key[strings.LastIndexByte(key, '.')+1:],
					strings.Trim(r.runs[0].keys[key], `"`)))
			}
		}
		r.name = strings.TrimSpace(r.method() + " " + strings.Join(parts, " "))
	}
	taken := map[string]int{}
	for _, r := range rows { // rows that differ in their texts alone
		if taken[r.name]++; taken[r.name] > 1 {
			r.name = fmt.Sprintf("%s (%d)", r.name, taken[r.name])
		}
	}
}

// choose finds the control: the row that is named, or the first of mle, or the first. It comes first from then on.
func choose(rows []*row, name string) ([]*row, error) {
	at := slices.IndexFunc(rows, func(r *row) bool { return r.name == name })
	if at < 0 {
		at = slices.IndexFunc(rows, func(r *row) bool {
			return r.method() == name || name == "" && r.method() == "mle"
		})
	}
	if at < 0 && name != "" {
		var names []string
		for _, r := range rows {
			names = append(names, r.name)
		}
		return nil, command.Usagef("-control %s is no row: the rows are %s", name, strings.Join(names, ", "))
	}
	at = max(at, 0)
	rows = append([]*row{rows[at]}, slices.Delete(slices.Clone(rows), at, at+1)...)
	for _, r := range rows {
		r.notes = r.fairness(rows[0])
	}
	return rows, nil
}

// fairness says key by key what else than its method tells a row from the control, and what else makes a comparison
// doubtful.
func (r *row) fairness(control *row) (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	a, b := control.runs[0], r.runs[0]
	if r != control {
		names := slices.Sorted(maps.Keys(a.keys))
		for _, key := range slices.Sorted(maps.Keys(b.keys)) {
			if !slices.Contains(names, key) {
				names = append(names, key)
			}
		}
		for _, key := range names {
			if x, y := a.keys[key], b.keys[key]; x != y && !isNeutral(key) && !own(key) {
				note("%s is %s here and %s in %s", key, cmp.Or(y, "not set"), cmp.Or(x, "not set"), control.name)
			}
		}
		for _, file := range slices.Sorted(maps.Keys(a.results.Data.SHA256)) {
			if sum, there := b.results.Data.SHA256[file]; !there {
				note("it did not read %s", file)
			} else if sum != a.results.Data.SHA256[file] {
				note("its %s is another text", file)
			}
		}
		for _, file := range slices.Sorted(maps.Keys(b.results.Data.SHA256)) {
			if _, there := a.results.Data.SHA256[file]; !there {
				note("it read %s, and %s did not", file, control.name)
			}
		}
		if x, y := a.results.Updates, b.results.Updates; x != y && a.keys["train.steps"] == b.keys["train.steps"] &&
			a.keys["train.epochs"] == b.keys["train.epochs"] {
			note("it stopped after %d updates, and %s after %d", y, control.name, x)
		}
		if x, y := control.seeds(), r.seeds(); !slices.Equal(x, y) {
			note("it has the seeds %s, and %s the seeds %s: tests over seeds use all, other tests those of both",
				list(y), control.name, list(x))
		}
	}
	for _, with := range record.Evaluations {
		for _, t := range r.runs {
			if x, y := a.evaluated(with), t.evaluated(with); x != "" && y != "" && x != y {
				note("seed %d was evaluated -with=%s with %s, and %s with %s", t.results.Seed, with, y, control.name, x)
			}
		}
	}
	machines := map[string][]int64{} // seeds by where they ran
	for _, t := range r.runs {
		other := cmp.Or(control.seed(t.results.Seed), a)
		if t.machine != other.machine && t.machine != "" && other.machine != "" {
			ran := fmt.Sprintf("ran on %s, and %s on %s", t.machine, control.name, other.machine)
			machines[ran] = append(machines[ran], t.results.Seed)
		}
	}
	for _, ran := range slices.Sorted(maps.Keys(machines)) {
		note("it %s (seed %s): their times do not compare", ran, list(machines[ran]))
	}
	elsewhere := map[string][]int64{} // seeds by commit
	for _, t := range r.runs {
		if commit := t.results.Code.Commit; commit != a.results.Code.Commit {
			elsewhere[string(commit)] = append(elsewhere[string(commit)], t.results.Seed)
		}
	}
	for _, commit := range slices.Sorted(maps.Keys(elsewhere)) {
		note("commit %.12s trained it (seed %s), and %.12s the first seed of %s", cmp.Or(commit, "unknown"),
			list(elsewhere[commit]), cmp.Or(string(a.results.Code.Commit), "unknown"), control.name)
	}
	return notes
}

// evaluated says with what settings a run was evaluated, but for those that the validation text chose; empty where it
// was not.
func (t *trained) evaluated(with string) string {
	e := t.evaluations[with]
	if e == nil {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(e.Settings)) {
		if slices.Contains(e.Searched, name) {
			parts = append(parts, name+" searched for")
		} else {
			parts = append(parts, fmt.Sprintf("%s %v", name, e.Settings[name]))
		}
	}
	return strings.Join(parts, ", ")
}

func list(seeds []int64) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(seeds)), ", "), "[]")
}

// settings are the objective's keys that differ from the control's.
func (r *row) settings(control *row) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(r.runs[0].keys)) {
		if x := r.runs[0].keys[key]; own(key) && key != "objective.method" && x != control.runs[0].keys[key] {
			parts = append(parts, strings.TrimPrefix(key, "objective.")+" = "+x)
		}
	}
	return strings.Join(parts, ", ")
}
