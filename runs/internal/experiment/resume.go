package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// takeUp reads the configuration of the run that is to go on. Where there is none to go on with, one begins if it did
// not come as far as its configuration, or may begin.
func (s *Settings) takeUp(mayBegin bool) error {
	previous, err := ReadConfig(s.Out)
	const advice = "leave out -resume to start one there, or name its folder with -out"
	switch missing := files.NoFolder(s.Out); {
	case killedAtStart(s.Out):
		s.note("the run in %s ended before it began: starting it from the beginning", s.Out)
	case mayBegin && errors.Is(err, fs.ErrNotExist):
		s.note("%s holds no run to resume: starting one", s.Out)
	case missing != nil:
		return fmt.Errorf("%w to resume the run of: "+advice, missing)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s holds no run to resume: "+advice, s.Out)
	case err != nil:
		return err
	default:
		s.previous = &previous
	}
	return nil
}

// killedAtStart tells a folder that a process began to fill, without coming as far as its configuration, from one that
// never held a run.
func killedAtStart(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, ConfigFile))
	return errors.Is(err, fs.ErrNotExist) && files.Exists(filepath.Join(folder, CommandFile))
}

// compare refuses a resumed run's changes that would make it another experiment, and notes the others.
func (s *Settings) compare() error {
	for _, d := range schema.Differences(s.previous, &s.Config) {
		if !d.Allowed {
			return command.Usagef("a resumed run cannot change %s: "+
				"start a new one with another -out, or leave the key as it was", d)
		}
		if d.ByName && !s.byHand(d.Key) {
			value := strings.Trim(d.New, `"`)
			return command.Usagef("resuming would change %s: ask for it with -set %s=%s", d, d.Key, value)
		}
		if was, now := s.previous.Data, s.Config.Data; d.Key == "data.test" && !now.Sample {
			was.Dir = now.Dir
			if was.Names().HoldsOutTest(was.TextSettings) != now.Names().HoldsOutTest(now.TextSettings) {
				return command.Usagef("a resumed run cannot change %s where data.held_out takes a test text without "+
					"files out of the training text: start a new one with another -out, or leave the key as it was", d)
			}
		}
		s.note("resuming changes %s", d)
	}
	return nil
}

// resume takes up the run in the folder.
func (r *Run) resume(s *Settings) (err error) {
	if r.replaced, err = os.ReadFile(r.Path(ConfigFile)); err != nil {
		return err
	}
	var before record.Env // what an earlier process recorded, as far as it did
	if files.ReadJSON(r.Path(EnvFile), &before) == nil {
		r.Env.DataSHA256, r.Env.Files = before.DataSHA256, before.Files
		if was, is := before.Device, r.Env.Device; was != "" && kindOf(was) != kindOf(is) {
			s.note("the run was on %s, and goes on on %s, which rounds otherwise: -device chooses", was, is)
		}
	}
	if err := s.finished(); err != nil {
		return err
	}
	if err := os.Rename(r.Path(ResultsFile), r.Path(previousResults)); !errors.Is(err, fs.ErrNotExist) {
		r.finished = err == nil
		return files.DiskFull(err)
	}
	return nil
}

// kindOf is a device without its number.
func kindOf(device string) string {
	kind, _, _ := strings.Cut(device, ":")
	return kind
}

// finishedError says that the run to go on with has nothing left to do.
type finishedError struct {
	folder  string
	results *record.Results
	raise   []string // the keys that would let it train on; none where it ended by a rule without one
}

func (e *finishedError) Error() string {
	why := "to train on, raise " + strings.Join(e.raise, " and ")
	if len(e.raise) == 0 {
		why = `train.asgd = "finetune" trains until its averages no longer improve`
	}
	return fmt.Sprintf("%s is finished (%d updates, %.4g epochs): %s", e.folder, e.results.Updates,
		e.results.Epochs.Value(), why)
}

// finished is a *finishedError where the run to go on with has nothing left to do.
func (s *Settings) finished() error {
	results, err := record.Read(s.Out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	before, now := s.previous, &s.Config
	untested := now.Report.Test && (!before.Report.Test || slices.ContainsFunc(now.Data.Test,
		func(text string) bool { return !slices.Contains(before.Data.Test, text) })) // testing is all that is asked for
	raise, ended := toRaise(before, now, results)
	if ended && !untested {
		return &finishedError{s.Out, results, raise}
	}
	return nil
}

// toRaise says whether a finished run is still at its end, and lists the keys that hold it there.
func toRaise(previous, next *Config, results *record.Results) (raise []string, ended bool) {
	if n := next.Train.Steps; n > 0 && results.Updates >= int64(n) {
		raise = append(raise, fmt.Sprintf("train.steps (-steps, now %d)", n))
	}
	if n := next.Train.Epochs; n > 0 && results.Epochs.Value() >= float64(n) {
		raise = append(raise, fmt.Sprintf("train.epochs (-epochs, now %d)", n))
	}
	if len(raise) > 0 || previous == nil {
		return raise, len(raise) > 0
	}
	endedByLength := previous.Train.Steps > 0 && results.Updates >= int64(previous.Train.Steps) ||
		previous.Train.Epochs > 0 && results.Epochs.Value() >= float64(previous.Train.Epochs)
	if n := next.Train.Patience; !endedByLength && n > 0 && n <= previous.Train.Patience {
		raise = append(raise, fmt.Sprintf("train.patience (now %d)", n))
	}
	return raise, len(raise) > 0 || !endedByLength && next.Train.ASGD == "finetune"
}
