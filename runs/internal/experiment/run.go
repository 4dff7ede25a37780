package experiment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// Names of the files and folders in a run folder.
const (
	ConfigFile  = keys.File
	EnvFile     = record.EnvFile
	CommandFile = "command.txt"
	LogFile     = "train.log"
	MetricsFile = record.MetricsFile
	ResultsFile = record.File
	ReportFile  = "report.html"

	TokenizerDir   = bitext.TokenizerFolder
	EventsDir      = "tb"
	CheckpointsDir = checkpoint.Folder
	SamplesDir     = record.SamplesDir
	PlotsDir       = record.PlotsDir
)

// previousResults keeps the results of a finished run that is being continued.
const previousResults = "results.previous.json"

// Run is a run folder that this process holds: no other process can open it until Close.
type Run struct {
	Dir    string
	Config Config
	Log    *Logger

	ReadOnly bool // another process writes

	env      Env
	sums     map[string]func() (string, error) // of files that are being hashed, by key
	lock     *os.File
	replaced []byte // on resume, the config.toml that was there
	finished bool   // on resume, whether there were results
}

// Open makes the run folder that the settings name, or, with -resume, takes up the one that is there, and locks it. It
// writes config.toml, env.json and command.txt and opens train.log. A folder that holds a run is not touched without
// -resume, and one that is finished is not taken up unless what ended it was raised; both errors say what to do. Of several
// processes rank 0 does so; the others get a run that writes nothing.
func Open(s *Settings, env Env) (*Run, error) {
	if s.Place.Rank > 0 {
		nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		return &Run{Dir: s.Out, Config: s.Config, Log: NewLogger(nowhere, io.Discard), env: env, ReadOnly: true}, err
	}
	if s.Resume {
		return resume(s, env)
	}
	if err := os.MkdirAll(s.Out, 0o777); err != nil {
		return nil, files.DiskFull(fmt.Errorf("run folder: %w", err))
	}
	lock, err := files.Lock(s.Out)
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: s.Out, Config: s.Config, env: env, lock: lock}
	for _, name := range []string{ConfigFile, ResultsFile, CheckpointsDir} {
		if _, err := os.Lstat(r.Path(name)); err == nil {
			r.Close()
			return nil, fmt.Errorf("%s already holds a run: continue it with -resume, or name another folder with -out", s.Out)
		}
	}
	return r.begin(s)
}

// resume takes up the run in a folder.
func resume(s *Settings, env Env) (*Run, error) {
	lock, err := files.Lock(s.Out)
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: s.Out, Config: s.Config, env: env, lock: lock}
	if r.replaced, err = os.ReadFile(r.Path(ConfigFile)); err != nil {
		r.Close()
		return nil, err
	}
	r.env.DataSHA256, r.env.Files = readSums(r.Path(EnvFile))
	results, err := record.Read(s.Out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r.begin(s)
	case err != nil:
		r.Close()
		return nil, err
	}
	untested := !s.previous.Report.Test && s.Config.Report.Test // testing is all that is asked for
	if raise := toRaise(s.previous, &s.Config, results); len(raise) > 0 && !untested {
		r.Close()
		return nil, fmt.Errorf("%s is finished (%d updates, %.4g epochs): to train on, raise %s", s.Out, results.Updates, results.Epochs.Value(), strings.Join(raise, " and "))
	}
	if err := os.Rename(r.Path(ResultsFile), r.Path(previousResults)); err != nil {
		r.Close()
		return nil, files.DiskFull(err)
	}
	r.finished = true
	return r.begin(s)
}

// toRaise lists the keys that still hold a finished run at its end.
func toRaise(previous, next *Config, results *Results) []string {
	var raise []string
	if n := next.Train.Steps; n > 0 && results.Updates >= int64(n) {
		raise = append(raise, fmt.Sprintf("train.steps (-steps, now %d)", n))
	}
	if n := next.Train.Epochs; n > 0 && results.Epochs.Value() >= float64(n) {
		raise = append(raise, fmt.Sprintf("train.epochs (-epochs, now %d)", n))
	}
	if len(raise) > 0 || previous == nil {
		return raise
	}
	endedByLength := previous.Train.Steps > 0 && results.Updates >= int64(previous.Train.Steps) ||
		previous.Train.Epochs > 0 && results.Epochs.Value() >= float64(previous.Train.Epochs)
	if n := next.Train.Patience; !endedByLength && n > 0 && n <= previous.Train.Patience {
		raise = append(raise, fmt.Sprintf("train.patience (now %d)", n))
	}
	return raise
}

// begin writes what identifies the run. The configuration comes last: a folder holds a run from then on.
func (r *Run) begin(s *Settings) (*Run, error) {
	err := r.write(s)
	if err != nil {
		r.Close()
		return nil, files.DiskFull(err)
	}
	for _, note := range s.Notes {
		r.Log.Printf("%s", note)
	}
	return r, nil
}

func (r *Run) write(s *Settings) error {
	command, err := os.OpenFile(r.Path(CommandFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = command.WriteString(shellLine(s.Args) + "\n")
	if closed := command.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := record.WriteJSON(r.Path(EnvFile), r.env); err != nil {
		return err
	}
	file, err := os.OpenFile(r.Path(LogFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	r.Log = NewLogger(file, os.Stderr)
	if s.Quiet {
		r.Log.Quiet()
	}
	return r.WriteConfig()
}

// killedAtStart tells a folder that a process began to fill, without coming as far as its configuration, from one that
// never held a run.
func killedAtStart(folder string) bool {
	if _, err := os.Stat(filepath.Join(folder, ConfigFile)); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err := os.Stat(filepath.Join(folder, CommandFile))
	return err == nil
}

// WriteConfig writes config.toml anew, after Config was completed by what only the data can tell.
func (r *Run) WriteConfig() error {
	return files.Write(r.Path(ConfigFile), []byte(r.Config.TOML()))
}

// ReadConfig reads the configuration of a run folder, which must be what its checkpoints were trained with. Keys that are newer than the folder have their defaults. A folder
// without one is an os.ErrNotExist.
func ReadConfig(folder string) (Config, error) {
	tree, err := keys.ReadFolder(folder)
	if err != nil {
		return Config{}, err
	}
	l := newLayers()
	if err := l.tree(tree, filepath.Join(folder, ConfigFile), false); err != nil {
		return Config{}, err
	}
	return l.config, checkpoint.SameRun(schema, &l.config, string(l.config.Task()), folder)
}

// Path returns the path of a file in the run folder, given by its parts.
func (r *Run) Path(parts ...string) string {
	return filepath.Join(append([]string{r.Dir}, parts...)...)
}

// TruncateMetrics cuts metrics.jsonl back to the lines of step and before: what a killed process wrote after its last
// checkpoint is about to be written again.
func (r *Run) TruncateMetrics(step int64) error {
	return truncateMetrics(r.Path(MetricsFile), step)
}

// CheckData records the SHA-256 of the texts that the run reads (see HashFiles) in env.json. In a resumed run a text that is
// no longer what it was is an error that names it.
func (r *Run) CheckData(sums map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if before, known := r.env.DataSHA256[name]; known && before != sums[name] {
			return fmt.Errorf("%s has changed since the run in %s began: restore it, or start a new run with another -out", name, r.Dir)
		}
	}
	if r.ReadOnly {
		return nil
	}
	r.env.DataSHA256 = maps.Clone(sums)
	return record.WriteJSON(r.Path(EnvFile), r.env)
}

// HashFiles begins to compute the SHA-256 of the files that settings of the method name, by key. Those that a resumed run has
// recorded stay: it kept what it made of the files, which may be gone.
func (r *Run) HashFiles(paths map[string]string) {
	if r.ReadOnly {
		return
	}
	r.sums = map[string]func() (string, error){}
	for key, path := range paths {
		if _, known := r.env.Files[key]; known || r.replaced != nil && !files.Exists(path) {
			continue
		}
		r.sums[key] = files.Sum(path)
	}
}

// Files waits for the SHA-256 of the method's files, records them in env.json, and returns them by key.
func (r *Run) Files() (map[string]string, error) {
	for key, sum := range r.sums {
		text, err := sum()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if r.env.Files == nil {
			r.env.Files = map[string]string{}
		}
		r.env.Files[key] = text
	}
	if len(r.sums) == 0 {
		return r.env.Files, nil
	}
	r.sums = nil
	return r.env.Files, record.WriteJSON(r.Path(EnvFile), r.env)
}

// Code is that which the process started with: the source tree may be another by now.
func (r *Run) Code() Code { return r.env.Code }

// Changed names the files of the source tree with changes that no commit holds.
func (r *Run) Changed() []string { return r.env.Changed }

// Longer says in words what to raise for a run that has found these results to train on.
func (r *Run) Longer(results *Results) string {
	raise := toRaise(nil, &r.Config, results)
	if len(raise) == 0 {
		raise = []string{fmt.Sprintf("train.patience (now %d)", r.Config.Train.Patience)}
	}
	return strings.Join(raise, " and ")
}

// WriteResults writes results.json, which marks the run as finished.
func (r *Run) WriteResults(results *Results) error {
	results.Code = r.Code()
	if results.Test == nil {
		results.Test = map[string]TestScores{}
	}
	if results.Data.SHA256 == nil {
		results.Data.SHA256 = map[string]string{}
	}
	return record.WriteJSON(r.Path(ResultsFile), results)
}

// Abandon is for a process that failed before its first update. A new run leaves its folder free for another one; a resumed
// run is again what it was. What tells of the failure stays: the log, the command and the environment.
func (r *Run) Abandon() {
	if r.ReadOnly {
		return
	}
	if r.replaced == nil {
		os.Remove(r.Path(ConfigFile))
		os.Remove(r.Path(CheckpointsDir)) // only while it is empty
		return
	}
	// Where that cannot be written, the run keeps its new length, and is not finished.
	if files.Write(r.Path(ConfigFile), r.replaced) == nil && r.finished {
		os.Rename(r.Path(previousResults), r.Path(ResultsFile))
	}
}

// Close ends the log and gives the folder free.
func (r *Run) Close() error {
	var err error
	if r.Log != nil {
		err = r.Log.Close()
	}
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close()) // the lock goes with the file
		r.lock = nil
	}
	return err
}

// shellLine joins arguments as a shell would read them again.
func shellLine(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		if quoted[i] = arg; arg == "" || strings.ContainsAny(arg, " \t\n\"'\\$`&|;<>()*?[]#~!{}") {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
