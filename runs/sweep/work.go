package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// Names in the folder of a sweep. trials/METHOD-NUMBER are the run folders of the search, chosen/METHOD-seedN those of
// what it chose, some of them links to trials. leader.txt names the control's trial whose values of [keys] the other
// methods take, where they do not search them themselves. superseded/ has what was trained for another choice.
const (
	searchFile = "sweep.toml"
	tableFile  = "table.md"
	trialsDir  = "trials"
	chosenDir  = "chosen"
	leaderFile = "leader.txt"
	asideDir   = "superseded"
)

// sweep is a search at work in its folder.
type sweep struct {
	*search
	folder  string
	list    []trial
	settled bool // followers' trials hold the control's best values of [keys]
	program string
	unasked bool // the program is the user's own, and is not to be run
	log     io.Writer
	lock    *os.File
	cpus    [][]int // of each job; nil: any

	length int       // of a full training, in steps or epochs; 0 where stages need not know it
	unit   string    // "steps" or "epochs"
	fixed  []setting // of every run

	seen sync.Map // views of run folders, by folder: each job that ends has all of them looked at several times

	mu          sync.Mutex
	done, total int     // jobs
	spent, made float64 // seconds and weight of runs that ended in this process
	pending     float64 // weight of all that is left
}

// look opens a sweep for reading, which may be at work elsewhere.
func look(s *search, folder string) (*sweep, error) {
	switch err := s.isOf(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s holds no sweep: name its folder with -out", folder)
	case err != nil:
		return nil, err
	}
	w := &sweep{search: s, folder: folder, list: s.trials(), log: io.Discard}
	return w, w.follow()
}

// open makes the folder of a sweep, or takes it up with -resume.
func open(s *search, f *flags, log io.Writer) (*sweep, error) {
	w := &sweep{search: s, folder: f.Out, list: s.trials(), log: log}
	path := filepath.Join(f.Out, searchFile)
	text, err := os.ReadFile(s.file)
	if err != nil {
		return nil, err
	}
	before, err := os.ReadFile(path)
	switch held := err == nil; {
	case held && f.Resume == "false":
		return nil, fmt.Errorf("%s already holds a sweep: continue it with -resume, or name another folder with -out",
			f.Out)
	case !held && f.Resume == "true":
		return nil, fmt.Errorf("%s holds no sweep to resume: leave out -resume to start one there, or name its folder "+
			"with -out",
			f.Out)
	case held:
		if err := same(string(before), path, s); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Join(f.Out, chosenDir), 0o777); err != nil {
		return nil, files.DiskFull(err)
	}
	if w.lock, err = files.Lock(f.Out); err != nil {
		return nil, err
	}
	err = w.prepare()
	if err == nil && f.Retry {
		err = w.forgetFailures() // the leader, too, that follow reads
	}
	if err == nil {
		err = w.follow()
	}
	if err == nil && !bytes.Equal(before, text) {
		err = files.Write(path, text) // the folder holds a sweep from now on
	}
	if err != nil {
		w.lock.Close()
	}
	return w, err
}

// isOf refuses another search than that of a sweep's folder.
func (s *search) isOf(folder string) error {
	path := filepath.Join(folder, searchFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return same(string(text), path, s)
}

// same refuses to go on with another search than the folder's. What leaves all that has run as it is may change: jobs,
// minutes, more seeds, and more methods, unless it is a grid, where the largest decides how many trials each method
// has.
func same(text, path string, s *search) error {
	before, err := parseSearch(text, path)
	if err != nil {
		return err
	}
	before.Jobs, before.Minutes, before.Seeds = s.Jobs, s.Minutes, max(s.Seeds, before.Seeds)
	own := maps.Clone(s.own)
	gone := func(m string) bool { return !slices.Contains(s.Methods, m) }
	if s.Search != "grid" && !slices.ContainsFunc(before.Methods, gone) {
		maps.DeleteFunc(own, func(m string, _ []dimension) bool { return !slices.Contains(before.Methods, m) })
		before.Methods = s.Methods
	}
	for _, d := range schema.Differences(&before.Header, &s.Header) {
		return command.Usagef("%s changes %s since the sweep began: change it back, or start another sweep with -out",
			s.file, d)
	}
	if !reflect.DeepEqual(before.shared, s.shared) || !reflect.DeepEqual(before.own, own) {
		return command.Usagef("%s searches other keys or values than the sweep in its folder began with (%s): "+
			"change them back, or start another sweep with -out", s.file, path)
	}
	return nil
}

// prepare finds the program, and asks it what it makes of each method's first trial: a mistake shows before hours are
// spent.
func (w *sweep) prepare() (err error) {
	last := slices.MaxFunc(w.list, func(a, b trial) int { return a.seed - b.seed }).seed
	if 1 < w.First && w.First <= last {
		return command.Usagef("%s: the search has the seeds 1 to %d, as points come again in it, and first_seed = %d "+
			"would test one that chose: set it above %[2]d", w.file, last, w.First)
	}
	if w.program, err = findProgram(w.Command, w.folder, w.log); err != nil {
		return err
	}
	for _, t := range w.list {
		if t.number > 1 {
			continue
		}
		config, err := w.ask(t)
		if err == nil {
			err = w.readLength(config, t)
		}
		if err != nil {
			return err
		}
	}
	available := processors()
	if w.Jobs*w.Threads > len(available) {
		fmt.Fprintf(w.log, "%d jobs of %d threads want more than the %d processors there are: they share them, "+
			"and times mean little\n", w.Jobs, w.Threads, len(available))
		w.cpus = make([][]int, w.Jobs)
		return nil
	}
	w.cpus = slices.Collect(slices.Chunk(available, w.Threads))
	return nil
}

// ask gives the configuration of a trial, as far as it is known without the program where that is not to be run.
func (w *sweep) ask(t trial) (keys.Tree, error) {
	args := w.args(t, t.seed, 0)
	if w.unasked {
		return stated(args), nil
	}
	return resolved(w.program, args)
}

// readLength finds how long a full training is, for halving, and holds the rate's course to it. What else goes by the
// length is refused: a trial that trains stage by stage would differ from the other seeds, which train in one go.
func (w *sweep) readLength(config keys.Tree, first trial) error {
	if w.Search != "halving" {
		return nil
	}
	steps, epochs := number(config, "train", "steps"), number(config, "train", "epochs")
	if steps > 0 && epochs > 0 {
		return command.Usagef("%s: halving shortens one length, and these trainings end at the first of train.steps = "+
			"%d and train.epochs = %d: set one of them to 0 in args", w.file, steps, epochs)
	}
	w.unit, w.length = "steps", steps
	if steps == 0 {
		w.unit, w.length = "epochs", epochs
	}
	if w.length == 0 {
		return command.Usagef("%s: halving shortens trainings, and these have no length: "+
			"set train.steps or train.epochs in args", w.file)
	}
	if first := w.rung(0); first < 1 {
		return command.Usagef("%s: %d stages of one in %d leave nothing of %d %s: lower rungs or keep",
			w.file, w.Rungs, w.Keep, w.length, w.unit)
	}
	if w.noiseFalls(config, first.method) {
		return command.Usagef("%s: noise goes from model.input_noise to model.input_noise_end over the length of "+
			"training, which halving changes: set both to one value, or write search = \"random\"", w.file)
	}
	kinds, period := []string{fmt.Sprint(config.Section("schedule")["kind"])}, number(config, "schedule", "period")
	for _, d := range w.space(first.method) {
		switch d.key {
		case "schedule.kind":
			kinds = append(kinds, d.values...)
		case "schedule.period":
			return nil
		}
	}
	for _, kind := range kinds {
		if kind = strings.Trim(kind, `"`); kind != "cosine" && kind != "linear" {
			continue
		}
		if period == 0 {
			return command.Usagef("%s: a %s schedule goes by the length of training, which halving changes: "+
				"set schedule.period in args, in updates", w.file, kind)
		}
		w.fixed = []setting{{"schedule.period", fmt.Sprint(period)}}
	}
	return nil
}

// noiseFalls says whether some trial of a method has input noise that is another at its end, by the configuration of
// the first: where one end has several values, they cannot all be the other's.
func (w *sweep) noiseFalls(config keys.Tree, method string) bool {
	start, end := config.Section("model")["input_noise"], config.Section("model")["input_noise_end"]
	if start != nil && end != nil && start != end { // nil: not known, as the program has not been asked
		return true
	}
	return slices.ContainsFunc(w.space(method), func(d dimension) bool {
		return (d.key == "model.input_noise" || d.key == "model.input_noise_end") && len(d.values) != 1
	})
}

// args are the arguments of a trial with a seed, of a length (0: its own).
func (w *sweep) args(t trial, seed, length int) []string {
	args := append(slices.Clone(w.Args), "-method="+t.method,
		fmt.Sprint("-seed=", seed), fmt.Sprint("-threads=", w.Threads))
	for _, s := range slices.Concat(w.fixed, t.point) {
		args = append(args, "-set="+s.key+"="+s.value)
	}
	if length > 0 {
		args = append(args, fmt.Sprintf("-%s=%d", w.unit, length))
	}
	return args
}

func (w *sweep) trialFolder(t trial) string { return filepath.Join(w.folder, trialsDir, t.name()) }

// work does what is left: the stages of the search, then the chosen with all seeds and the test texts.
func (w *sweep) work(ctx context.Context) error {
	fmt.Fprintf(w.log, "%d trials of each of %d methods, and %d chosen runs to test; %s has the table, "+
		"and %s prints it\n",
		w.left(0), len(w.Methods), w.Seeds*len(w.Methods), filepath.Join(w.folder, tableFile),
		command.ShellLine("sweep", w.file, "-out", w.folder, "-table"))
	w.total = w.Seeds
	for stage := range w.stages() {
		w.total += w.left(stage)
	}
	w.total *= len(w.Methods)
	if err := w.lead(ctx); err != nil {
		return err
	}
	going := w.list
	for stage := range w.stages() {
		err := w.do(ctx, w.searching(going, stage))
		if err == nil {
			going, err = w.goOn(going, stage, w.Methods...)
		}
		if err != nil {
			return err
		}
	}
	jobs, err := w.testing(going)
	if err == nil {
		err = w.do(ctx, jobs)
	}
	if err != nil {
		return err
	}
	// A test that failed may have taken its trial's validation scores along, which choose: they are measured again.
	return w.do(ctx, w.searching(going, w.stages()-1))
}

// do runs jobs, Jobs at a time, and returns when all have ended.
func (w *sweep) do(ctx context.Context, jobs []job) error {
	weight, count := w.remaining(0)
	w.done, w.pending = w.total-count, weight
	queue := make(chan job, len(jobs))
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	for slot := range min(w.Jobs, len(jobs)) {
		workers.Go(func() {
			for j := range queue {
				if ctx.Err() != nil {
					return
				}
				start := time.Now()
				err := j.run(ctx, w.program, w.cpus[slot])
				if err = w.ended(j, time.Since(start).Seconds(), err); err != nil {
					stop(err) // what is wrong with one is wrong with all: a full disk, a missing program
					return
				}
			}
		})
	}
	workers.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return w.writeTable()
}

// ended records how a job ended, tells it, and writes the table anew. A run that failed is no error of the sweep.
func (w *sweep) ended(j job, seconds float64, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var failed errFailed
	if errors.As(err, &failed) {
		if err := files.Write(filepath.Join(j.folder, j.failure), []byte(failed.words+"\n")); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	o, err := w.lookAt(j.folder)
	if err != nil {
		return err
	}
	if o.failed = failed.words; !o.finished && o.failed == "" {
		return fmt.Errorf("%s ended without results in %s: see %s.log", filepath.Base(w.program), j.folder, j.folder)
	}
	w.done++
	w.pending, w.spent, w.made = w.pending-j.weight, w.spent+seconds, w.made+j.weight
	fmt.Fprintln(w.log, w.progress(j, o, seconds))
	return w.writeTable()
}
