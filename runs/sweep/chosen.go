package main

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/keys"
)

// testing are the jobs that train the best of those going with all seeds and test them, as far as that has not been
// done: seed by seed, so that a sweep that is stopped has all methods with the seeds that it came to.
func (w *sweep) testing(going []trial) (jobs []job, err error) {
	var chosen []trial
	for _, m := range w.Methods {
		ranked, err := w.ranked(going, m)
		if err != nil {
			return nil, err
		}
		if len(ranked) == 0 {
			fmt.Fprintf(w.log, "no trial of %s has a validation score: it is left out\n", m)
			continue
		}
		chosen = append(chosen, ranked[0])
	}
	for seed := range w.tested() {
		for _, best := range chosen {
			folder, searched, err := w.chosenFolder(best, seed)
			if err != nil {
				return nil, err
			}
			o, err := w.lookAt(folder)
			if err != nil {
				return nil, err
			}
			if o.ended() {
				continue
			}
			args := append(w.args(best, seed, w.length), "-set=report.test=true")
			words := strings.TrimSpace(fmt.Sprintf("%s chosen, seed %d: %s", best.method, seed, best.point))
			j := job{folder, args, words, 1, failedFile}
			if searched {
				j.weight, j.failure = 0.05, untestedFile // it is tested only
			}
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

// tested are the seeds that what was chosen is tested with.
func (w *sweep) tested() iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := range w.Seeds {
			if !yield(w.First + n) {
				return
			}
		}
	}
}

// chosen is the path of a method's chosen run with a seed, a folder or a link to one.
func (w *sweep) chosen(method string, seed int) string {
	return filepath.Join(w.folder, chosenDir, fmt.Sprintf("%s-seed%d", method, seed))
}

// chosenFolder is where the chosen trial runs with a seed: where the search ran it (searched), with a link to there, or
// a folder of its own. What lies there of another choice makes way.
func (w *sweep) chosenFolder(best trial, seed int) (folder string, searched bool, err error) {
	name := w.chosen(best.method, seed)
	target := ""
	for _, t := range w.list {
		same := t.method == best.method && t.seed == seed && slices.Equal(t.point, best.point)
		if same && w.reached(w.trialFolder(t), w.length) {
			folder, target = w.trialFolder(t), filepath.Join("..", trialsDir, t.name())
			break
		}
	}
	if link, err := os.Readlink(name); err == nil {
		if link == target {
			return folder, true, nil
		}
		if err := os.Remove(name); err != nil { // the trial that it led to stays
			return "", false, err
		}
	} else if _, err := os.Lstat(name); err == nil {
		same, err := sameValues(name, w.trialFolder(best), best.point)
		if err != nil || same {
			return name, false, err
		}
		if err := w.setAside(name, best); err != nil {
			return "", false, err
		}
	}
	if target == "" {
		return name, false, nil
	}
	return folder, true, os.Symlink(target, name)
}

// sameValues says whether two run folders have the same values of some keys. A folder whose run has not begun has no
// other ones.
func sameValues(a, b string, of point) (bool, error) {
	configs := [2]keys.Tree{}
	for i, folder := range []string{a, b} {
		var err error
		if configs[i], err = keys.ReadFolder(folder); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return true, nil
			}
			return false, err
		}
	}
	for _, s := range of {
		section, name, _ := strings.Cut(s.key, ".")
		if !reflect.DeepEqual(configs[0].Section(section)[name], configs[1].Section(section)[name]) {
			return false, nil
		}
	}
	return true, nil
}

// setAside moves a run folder that was trained for another choice than the trial that is best now: hours of training
// are not removed unasked.
func (w *sweep) setAside(folder string, best trial) error {
	to := filepath.Join(w.folder, asideDir, filepath.Base(folder))
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); err != nil {
			break
		}
		to = filepath.Join(w.folder, asideDir, fmt.Sprintf("%s-%d", filepath.Base(folder), n))
	}
	err := os.MkdirAll(filepath.Dir(to), 0o777)
	if err == nil {
		err = os.Rename(folder, to)
	}
	if err != nil {
		return files.DiskFull(err)
	}
	fmt.Fprintf(w.log, "%s was trained with other values than those of %s, which is the best now: it is in %s\n", folder,
		best.name(), to)
	return nil
}

// forgetFailures lets failed runs be tried again, and what was decided without them be decided anew. A trial that
// trained on since competes with what it has reached.
func (w *sweep) forgetFailures() error {
	for _, t := range w.list {
		if !files.Exists(filepath.Join(w.trialFolder(t), failedFile)) {
			continue
		}
		stage := 0 // that it failed in
		for ; stage < w.stages()-1; stage++ {
			names, err := w.wentOn(stage)
			if err != nil {
				return err
			}
			if !slices.Contains(names[t.method], t.name()) {
				break
			}
		}
		err := w.undecide(t.method, stage)
		if t.method == w.Control {
			err = errors.Join(err, os.RemoveAll(filepath.Join(w.folder, leaderFile)))
		}
		if err != nil {
			return err
		}
	}
	// The failures go last: where this ends early, another -retry finds them.
	for _, dir := range []string{trialsDir, chosenDir} {
		for _, name := range []string{failedFile, untestedFile} {
			found, err := fs.Glob(os.DirFS(w.folder), dir+"/*/"+name) // the folder's name is no pattern
			for _, path := range found {
				err = errors.Join(err, os.Remove(filepath.Join(w.folder, path)))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
