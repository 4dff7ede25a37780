package experiment

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

// Task is what a run's model does with text.
type Task string

// The tasks. Translation reads pairs of files, DIR/NAME.SOURCE and DIR/NAME.TARGET; a language model reads DIR/NAME.txt.
const (
	Translation   Task = "translation"
	LanguageModel Task = "language model"
)

// network names what a task trains.
func (t Task) network() string {
	if t == LanguageModel {
		return string(t)
	}
	return "translator"
}

// Preset is one published, or small, experiment of a run: a whole configuration in the commented file Name.toml of Spec.FS.
type Preset struct {
	Name     string // as -preset takes it
	Size     string // parameters, as in "39 M parameters"
	Duration string // time to train, and on what, as in "20 min on two CPU cores"
}

// Spec describes a run: all that Parse needs to know about one folder under runs/.
type Spec struct {
	Name          string // folder under runs/
	Summary       string // one sentence for -h
	Task          Task
	Presets       []Preset
	FS            fs.FS  // holds the presets' files
	DefaultPreset string // used with -data
	SamplePreset  string // used without; "sample" where empty

	CheckMethod    func(name string) error // refuses a method with a sentence; nil accepts all
	WordTargets    func(name string) bool  // whether a method predicts whole words; nil is never
	FrequencyOrder func(name string) bool  // whether a method wants frequent words first; nil is never
	MethodHelp     func() string           // the table that -method=help prints
	Stdout         io.Writer               // where help goes; nil is standard output
}

func (s *Spec) task() Task {
	if s.Task == "" {
		return Translation
	}
	return s.Task
}

func (s *Spec) stdout() io.Writer {
	if s.Stdout != nil {
		return s.Stdout
	}
	return os.Stdout
}

func (s *Spec) samplePreset() string {
	if s.SamplePreset != "" {
		return s.SamplePreset
	}
	return "sample"
}

// preset returns the text of a preset's file.
func (s *Spec) preset(name string) (string, error) {
	names := make([]string, len(s.Presets))
	for i, p := range s.Presets {
		names[i] = p.Name
		if p.Name == name {
			text, err := fs.ReadFile(s.FS, name+".toml")
			return string(text), err
		}
	}
	return "", command.Usagef("unknown preset %q: runs/%s has %s", name, s.Name, strings.Join(names, ", "))
}

// options are the flags of all training runs that stand for no single key of the configuration.
type options struct {
	preset, config, out string
	set                 []string
	resume, plan, help  bool
}

// flag groups, in the order in which help prints them.
const (
	groupWhat     = "What to train"
	groupData     = "Data"
	groupTraining = "Training"
	groupFolder   = "Run folder"
	groupOther    = "Other"
)

// flagKeys are the flags that stand for one key of the configuration each.
var flagKeys = []struct{ flag, key string }{
	{"method", "objective.method"}, {"data", "data.dir"}, {"train", "data.train"}, {"valid", "data.valid"}, {"test", "data.test"},
	{"src", "data.source"}, {"tgt", "data.target"}, {"seed", "train.seed"}, {"device", "train.device"}, {"threads", "train.threads"},
	{"steps", "train.steps"}, {"epochs", "train.epochs"}, {"vectors", "objective.vectors"}, {"init", "train.init"},
}

// flags defines the flags of a run, and the group of each for help.
func (s *Spec) flags(o *options) (fs *pflag.FlagSet, groups map[string][]string) {
	fs = pflag.NewFlagSet(s.Name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	groups = map[string][]string{}
	key := func(name, usage string) { fs.String(name, "", usage) } // its key knows what it may be
	in := func(group string, names ...string) { groups[group] = append(groups[group], names...) }

	key("method", "`METHOD` of the output layer, several joined by a plus; help prints them")
	fs.StringVar(&o.preset, "preset", "", "start from the preset `NAME` (below)")
	fs.StringVar(&o.config, "config", "", "lay the .toml `FILE` over the preset")
	fs.StringArrayVar(&o.set, "set", nil, "lay one `KEY=VALUE` over that, as in train.max_tokens=2000; may repeat")
	key("vectors", "target vectors for methods that aim at vectors, a .vec or .bin `FILE`; else the training text gives them")
	key("init", "start from the weights of the run in `FOLDER`")
	in(groupWhat, "method", "preset", "config", "set", "vectors", "init")

	key("data", "`DIR` that holds the texts; without it the built-in sample is used")
	key("train", "training text, the `NAME` of its files without ending")
	key("valid", "validation text, `NAME` likewise")
	key("test", "test texts, `NAME,NAME...` likewise")
	in(groupData, "data", "train", "valid", "test")
	if s.Task != LanguageModel {
		key("src", "`LANGUAGE` to translate from: the ending of its files")
		key("tgt", "`LANGUAGE` to translate into")
		in(groupData, "src", "tgt")
	}

	key("steps", "stop after `N` updates")
	key("epochs", "stop after `N` passes over the data; with -steps, whichever ends first")
	key("seed", "seed `N` of all random streams")
	key("device", "`DEVICE`: cpu, cuda, cuda:N or auto")
	key("threads", "`N` CPU threads")
	in(groupTraining, "steps", "epochs", "seed", "device", "threads")

	fs.StringVar(&o.out, "out", "", "run `FOLDER` (default experiments/"+s.Name+"/METHOD-PRESET-seedN)")
	fs.BoolVar(&o.resume, "resume", false, "continue the run in that folder")
	in(groupFolder, "out", "resume")

	fs.BoolVar(&o.plan, "plan", false, "print parameters, memory and updates per epoch, and stop")
	fs.BoolVarP(&o.help, "help", "h", false, "print this")
	in(groupOther, "plan", "help")
	return fs, groups
}

// printHelp writes the flags by group, and the presets with size and duration.
func (s *Spec) printHelp(fs *pflag.FlagSet, groups map[string][]string) {
	w := s.stdout()
	fmt.Fprintf(w, "%s\n\nUsage: go run ./runs/%s [-flag=value ...]\n", s.Summary, s.Name)
	for _, group := range []string{groupWhat, groupData, groupTraining, groupFolder, groupOther} {
		fmt.Fprintf(w, "\n%s:\n", group)
		for _, name := range groups[group] {
			flag := fs.Lookup(name)
			value, usage := pflag.UnquoteUsage(flag)
			left := "-" + name
			if flag.Shorthand != "" {
				left = "-" + flag.Shorthand + ", " + left
			}
			fmt.Fprintf(w, "  %-20s %s\n", strings.TrimSpace(left+" "+value), usage)
		}
	}
	fmt.Fprintf(w, "\nPresets:\n")
	for _, p := range s.Presets {
		use := ""
		switch p.Name {
		case s.DefaultPreset:
			use = "  (default with -data)"
		case s.samplePreset():
			use = "  (default without -data)"
		}
		fmt.Fprintf(w, "  %-20s %-18s %s%s\n", p.Name, p.Size, p.Duration, use)
	}
	fmt.Fprintf(w, "\nEvery other key stands in the presets' .toml files (%s): change it with -set or -config.\n",
		filepath.ToSlash(filepath.Join("runs", s.Name)))
}
