package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

// dry checks a search without running it: it asks a program under runs/ for the configuration of every trial, and
// prints the commands of the first stage, what follows, and how long all takes, without what has run. A program of the
// user's own is not run: who looks at what a file would do has not agreed to do it.
func dry(s *search, folder string, out, log io.Writer) error {
	place, err := os.MkdirTemp("", "sweep-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(place)
	w := &sweep{search: s, folder: place, list: s.trials(), log: log, unasked: strings.Contains(s.Command, "/")}
	if err := w.prepare(); err != nil { // builds the program there
		return err
	}
	w.folder = folder
	if err := s.isOf(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := w.follow(); err != nil {
		return err
	}
	for _, t := range w.list {
		if _, err := w.ask(t); err != nil {
			return err
		}
	}
	program := s.Command
	if !w.unasked {
		program = "go run ./" + filepath.Join("runs", program)
	}
	work, trials, told := 0.0, 0, w.settled
	for _, t := range w.list { // the followers are last
		if w.follows(t.method) && !told {
			told = true
			fmt.Fprintf(out, "\nThese take the best values of [keys] that %s finds besides:\n\n", w.Control)
		}
		for _, j := range w.searching([]trial{t}, 0) {
			work, trials = work+j.weight, trials+1
			fmt.Fprintln(out, program, command.ShellLine(append(j.args, "-out="+j.folder)...))
		}
	}
	later, _ := w.remaining(1)
	_, count := w.remaining(w.stages())
	fmt.Fprintf(out, "\n%d trials of each of %d methods, of which %d are to be trained", w.left(0), len(w.Methods),
		trials)
	for stage := 1; stage < w.stages(); stage++ {
		fmt.Fprintf(out, "; then the best %d of each go on to %d %s", w.left(stage), w.rung(stage), w.unit)
	}
	fmt.Fprintf(out, ".\nThen the best of each method by the validation %s is trained with the seeds %d to %d and "+
		"tested: %d more runs.\n", w.Score, w.First, w.First+w.Seeds-1, count)
	fmt.Fprintln(out, w.estimate(work+later))
	if w.unasked {
		fmt.Fprintf(out, "%s was not run: whether it takes these flags, keys and values, and what it sets beside "+
			"them, shows when the sweep begins.\n", s.Command)
	}
	return nil
}

// estimate says how long work takes, in full trainings: by what has run, else by the file's minutes.
func (w *sweep) estimate(work float64) string {
	minutes, from := w.Minutes, "minutes"
	seconds, whole := 0.0, 0
	for _, t := range w.list {
		if o, err := w.lookAt(w.trialFolder(t)); err == nil && o.finished && w.stages() == 1 {
			seconds, whole = seconds+o.seconds, whole+1
		}
	}
	if whole > 0 {
		minutes, from = seconds/float64(whole)/60, "the trials that have run"
	}
	sum := fmt.Sprintf("Together %.1f full trainings of %d threads, %d at a time", work, w.Threads, w.Jobs)
	if minutes == 0 {
		return sum + fmt.Sprintf(": how long one takes is not known (minutes in %s would say it).", w.file)
	}
	left := time.Duration(work * minutes / float64(w.Jobs) * float64(time.Minute)).Round(time.Minute)
	return sum + fmt.Sprintf(": about %s, at %.3g minutes each by %s.", left, minutes, from)
}
