package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
)

// rung is how long a stage of halving trains, and 0, which stands for a training's own length, where nothing is halved.
func (w *sweep) rung(stage int) int {
	if w.Search != "halving" {
		return 0
	}
	n := w.length
	for range w.Rungs - 1 - stage {
		n /= w.Keep
	}
	return n
}

func (w *sweep) stages() int {
	if w.Search == "halving" {
		return w.Rungs
	}
	return 1
}

// left is how many trials of a method a stage trains.
func (w *sweep) left(stage int) int {
	n := len(w.list) / len(w.Methods)
	for range stage {
		n = (n + w.Keep - 1) / w.Keep
	}
	return n
}

// weight is the work of a stage for each of its trials, in full trainings.
func (w *sweep) weight(stage int) float64 {
	if w.Search != "halving" {
		return 1
	}
	whole := w.rung(stage)
	if stage > 0 {
		whole -= w.rung(stage - 1)
	}
	return float64(whole) / float64(w.length)
}

// remaining is the work from a stage on that has yet to be done, testing included, in full trainings and in jobs.
func (w *sweep) remaining(from int) (weight float64, count int) {
	for _, m := range w.Methods {
		for stage := from; stage < w.stages(); stage++ {
			n := w.untrained(m, stage)
			weight, count = weight+float64(n)*w.weight(stage), count+n
		}
		for seed := range w.tested() {
			o, err := w.lookAt(w.chosen(m, seed))
			if err == nil && o.ended() {
				continue
			}
			count++
			if seed > 1 && !o.finished { // the search has trained the first
				weight++
			}
		}
	}
	return weight, count
}

// untrained counts the trials of a method that a stage has yet to train: all that it will, while that is not decided.
func (w *sweep) untrained(method string, stage int) int {
	going := of(w.list, method)
	if stage > 0 {
		names, err := w.wentOn(stage - 1)
		if _, decided := names[method]; err != nil || !decided {
			return w.left(stage)
		}
		going = named(going, names)
	}
	return len(w.searching(going, stage))
}

func of(list []trial, method string) []trial {
	return slices.DeleteFunc(slices.Clone(list), func(t trial) bool { return t.method != method })
}

// searching are the jobs of a stage that have not been done.
func (w *sweep) searching(going []trial, stage int) (jobs []job) {
	for _, t := range going {
		if folder := w.trialFolder(t); !w.reached(folder, w.rung(stage)) {
			args := append(w.args(t, t.seed, w.rung(stage)), "-set=report.test=false")
			words := strings.TrimSpace(t.name() + " " + t.point.String())
			jobs = append(jobs, job{folder, args, words, w.weight(stage), failedFile})
		}
	}
	return jobs
}

// reached says whether a run has ended that long (0: at all), or before by its own rule; a failed one has.
func (w *sweep) reached(folder string, length int) bool {
	o, err := w.lookAt(folder)
	switch {
	case err != nil || !o.finished:
		return err == nil && o.failed != ""
	case length == 0:
		return true
	case w.unit == "steps":
		return o.updates >= int64(length) || o.updates < int64(o.steps)
	}
	return o.epochs >= float64(length) || o.epochs < float64(o.passes)
}

// rungFile names the trials that a stage of halving let go on, by method, which their folders no longer tell once they
// have trained on. A method that is not there has not been decided on.
func (w *sweep) rungFile(stage int) string {
	return filepath.Join(w.folder, fmt.Sprintf("rung-%d.json", stage+1))
}

func (w *sweep) wentOn(stage int) (map[string][]string, error) {
	names := map[string][]string{}
	err := files.ReadJSON(w.rungFile(stage), &names)
	if errors.Is(err, os.ErrNotExist) {
		return names, nil
	}
	if err != nil {
		err = fmt.Errorf("%w; it names the trials that went on, which scores no longer tell: restore it from a copy, "+
			"or search anew with another -out", err)
	}
	return names, err
}

// goOn gives the trials that a stage lets go on, the best of each of the methods, and records them.
func (w *sweep) goOn(going []trial, stage int, methods ...string) ([]trial, error) {
	if stage == w.stages()-1 {
		return going, nil
	}
	names, err := w.wentOn(stage)
	if err != nil {
		return nil, err
	}
	for _, m := range methods {
		if _, decided := names[m]; decided {
			continue
		}
		ranked, err := w.ranked(going, m)
		if err != nil {
			return nil, err
		}
		names[m] = []string{}
		for _, best := range ranked[:min(len(ranked), w.left(stage+1))] {
			names[m] = append(names[m], best.name())
		}
	}
	return named(going, names), w.decide(stage, names)
}

func (w *sweep) decide(stage int, names map[string][]string) error {
	text, err := json.Marshal(names)
	if err == nil {
		err = files.Write(w.rungFile(stage), text)
	}
	return err
}

// undecide lets a stage and all later ones decide anew on a method.
func (w *sweep) undecide(method string, from int) error {
	for stage := from; stage < w.stages()-1; stage++ {
		names, err := w.wentOn(stage)
		if _, decided := names[method]; err == nil && decided {
			delete(names, method)
			err = w.decide(stage, names)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func named(from []trial, names map[string][]string) []trial {
	left := func(t trial) bool { return !slices.Contains(names[t.method], t.name()) }
	return slices.DeleteFunc(slices.Clone(from), left)
}

// ranked are a method's trials that have a validation score, the best first.
func (w *sweep) ranked(from []trial, method string) ([]trial, error) {
	scores := map[string]float64{}
	var list []trial
	for _, t := range of(from, method) {
		o, err := w.lookAt(w.trialFolder(t))
		if err != nil {
			return nil, err
		}
		if x := o.score(w.Score); !math.IsInf(x, 1) {
			scores[t.name()], list = x, append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b trial) int { return cmp.Compare(scores[a.name()], scores[b.name()]) })
	return list, nil
}

// finalists are the trials that train in full; nil where that has not been decided for all methods.
func (w *sweep) finalists() ([]trial, error) {
	going := w.list
	for stage := range w.stages() - 1 {
		names, err := w.wentOn(stage)
		if err != nil || slices.ContainsFunc(w.Methods, func(m string) bool { return names[m] == nil }) {
			return nil, err
		}
		going = named(going, names)
	}
	return going, nil
}

// standing are the trials that are ranked against each other: the finalists, or all, of stages of different length,
// while these are not known.
func (w *sweep) standing() ([]trial, error) {
	going, err := w.finalists()
	if going == nil {
		going = w.list
	}
	return going, err
}
