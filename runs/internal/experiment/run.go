package experiment

import (
	"bytes"
	"cmp"
	"encoding/json"
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
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// Names in a run folder.
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

	ReadOnly bool       // another process writes
	Env      record.Env // of the process when it started: the source tree may be another by now

	sums     map[string]func() (string, error) // of files that are being hashed, by key
	lock     *os.File
	replaced []byte // on resume, the config.toml that was there
	finished bool   // on resume, whether there were results
}

// Open makes the run folder that the settings name, or, with -resume, takes up the one that is there, and locks it. It
// writes config.toml, env.json and command.txt and opens train.log. A folder that holds a run is not touched without
// -resume, and a finished one only where what ended it was raised. Of several processes the first does so; the others
// get a run that writes nothing.
func Open(s *Settings, env record.Env) (r *Run, err error) {
	r = &Run{Dir: s.Out, Config: s.Config, Env: env, ReadOnly: s.Place.Rank > 0}
	if r.ReadOnly {
		nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		r.Log = NewLogger(nowhere, io.Discard)
		return r, err
	}
	if !s.Resume() {
		if err := files.MakeFolder(s.Out); err != nil {
			return nil, files.DiskFull(fmt.Errorf("run folder: %w", err))
		}
	}
	if r.lock, err = files.Lock(s.Out); err != nil {
		return nil, err
	}
	begin := r.create
	if s.Resume() {
		begin = r.resume
	}
	if err = begin(s); err == nil {
		err = files.DiskFull(r.write(s))
	}
	if err != nil {
		if r.finished { // else nothing was changed
			r.Abandon()
		}
		r.Close()
		return nil, err
	}
	for _, note := range s.Notes {
		r.Log.Printf("%s", note)
	}
	return r, nil
}

// create refuses a folder that holds a run.
func (r *Run) create(*Settings) error {
	there := func(name string) bool {
		_, err := os.Lstat(r.Path(name))
		return err == nil
	}
	switch {
	case there(ConfigFile):
		return fmt.Errorf("%s already holds a run: continue it with -resume, or name another folder with -out", r.Dir)
	case there(ResultsFile), there(CheckpointsDir):
		return fmt.Errorf("%s already holds a run, whose %s is gone: put that back to continue it, or name another folder "+
			"with -out", r.Dir, ConfigFile)
	}
	return nil
}

// write writes what identifies the run. The configuration comes last: a folder holds a run from then on.
func (r *Run) write(s *Settings) error {
	const appending = os.O_APPEND | os.O_CREATE | os.O_WRONLY
	line, err := os.OpenFile(r.Path(CommandFile), appending, 0o666)
	if err != nil {
		return err
	}
	_, err = line.WriteString(command.ShellLine(s.Args...) + "\n")
	if err = cmp.Or(err, line.Close()); err != nil {
		return err
	}
	if err := files.WriteJSON(r.Path(EnvFile), r.Env); err != nil {
		return err
	}
	file, err := os.OpenFile(r.Path(LogFile), appending, 0o666)
	if err != nil {
		return err
	}
	r.Log = NewLogger(file, os.Stderr)
	if s.Quiet {
		r.Log.Quiet()
	}
	return files.Write(r.Path(ConfigFile), []byte(r.Config.TOML()))
}

// ReadConfig reads the configuration of a run folder, which must be what its checkpoints were trained with. Keys that
// are newer than the folder have their defaults. A folder without one is an os.ErrNotExist.
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

// TruncateMetrics cuts metrics.jsonl back to the lines of step and before, which are about to be written again. From a
// line without an end, or that is no JSON, it drops all: a killed process left it.
func (r *Run) TruncateMetrics(step int64) error {
	data, err := os.ReadFile(r.Path(MetricsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var kept []byte
	for line := range bytes.Lines(data) {
		var record struct{ Step *int64 }
		if line[len(line)-1] != '\n' || json.Unmarshal(line, &record) != nil || record.Step == nil {
			break
		}
		if *record.Step <= step {
			kept = append(kept, line...)
		}
	}
	if len(kept) == len(data) {
		return nil
	}
	return files.Write(r.Path(MetricsFile), kept)
}

// CheckData records the SHA-256 of the texts that the run reads in env.json. A text that has changed since a resumed
// run began is an error that names it, with all others that have: some may be parts of the file that has changed.
func (r *Run) CheckData(sums map[string]string) error {
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if before, known := r.Env.DataSHA256[name]; known && before != sums[name] {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		return fmt.Errorf("the texts have changed since the run in %s began (%s): restore their files, or start a new run "+
			"with another -out", r.Dir, strings.Join(changed, ", "))
	}
	if r.ReadOnly {
		return nil
	}
	r.Env.DataSHA256 = maps.Clone(sums)
	return files.WriteJSON(r.Path(EnvFile), r.Env)
}

// HashFiles begins to compute the SHA-256 of the files that settings of the method name, by key. A resumed run kept
// what it made of its files, which may be gone: what it has recorded of them stays.
func (r *Run) HashFiles(paths map[string]string) {
	if r.ReadOnly {
		return
	}
	r.sums = map[string]func() (string, error){}
	for key, path := range paths {
		if _, known := r.Env.Files[key]; known || r.replaced != nil && !files.Exists(path) {
			continue
		}
		r.sums[key] = files.Sum(path)
	}
}

// Files waits for the SHA-256 of the method's files, records them in env.json, and returns them by key.
func (r *Run) Files() (map[string]string, error) {
	if len(r.sums) == 0 {
		return r.Env.Files, nil
	}
	if r.Env.Files == nil {
		r.Env.Files = map[string]string{}
	}
	for key, sum := range r.sums {
		text, err := sum()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		r.Env.Files[key] = text
	}
	r.sums = nil
	return r.Env.Files, files.WriteJSON(r.Path(EnvFile), r.Env)
}

// Longer says in words what to raise for a run that has found these results to train on.
func (r *Run) Longer(results *record.Results) string {
	raise, _ := toRaise(nil, &r.Config, results)
	if len(raise) == 0 {
		raise = []string{fmt.Sprintf("train.patience (now %d)", r.Config.Train.Patience)}
	}
	return strings.Join(raise, " and ")
}

// WriteResults writes results.json, which marks the run as finished.
func (r *Run) WriteResults(results *record.Results) error {
	results.Code = r.Env.Code
	if results.Test == nil {
		results.Test = map[string]record.TestScores{}
	}
	if results.Data.SHA256 == nil {
		results.Data.SHA256 = map[string]string{}
	}
	return files.WriteJSON(r.Path(ResultsFile), results)
}

// Abandon is for a process that failed before its first update. A new run leaves its folder free for another one, but
// for the log, the command and the environment; a resumed run is again what it was.
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
