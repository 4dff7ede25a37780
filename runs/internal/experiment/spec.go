package experiment

import (
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// samplePreset is the preset without -data, which all runs of a task share.
const samplePreset = "sample"

// Spec describes a run: all that Parse needs to know about one folder under runs/.
type Spec struct {
	Name          string // folder under runs/
	Summary       string // one sentence for -h
	Task          Task
	FS            fs.FS  // holds the presets' files, NAME.toml, beside that of the built-in sample
	DefaultPreset string // used with -data

	// BySize chooses the preset that is used with -data by the number of training pairs; nil: DefaultPreset.
	BySize func(pairs int) string

	Stdout io.Writer // where help goes
}

// options are the flags of all training runs that stand for no single key of the configuration.
type options struct {
	preset, config, out string
	set                 []string
	resume, plan, help  bool
	quiet               bool
	processes           int
	printConfig         bool
	speed               parallel.Speed
}

// annotations of flags: the heading that they stand under in help, and the key that they stand for.
const (
	groupOf = "group"
	keyOf   = "key"
)

// flags defines the flags of a run, in the order of help.
func (s *Spec) flags(o *options) *pflag.FlagSet {
	fs := command.Flags(s.Name)
	group := func(title string) { // of the flags since the last one
		fs.VisitAll(func(f *pflag.Flag) {
			if f.Annotations[groupOf] == nil {
				fs.SetAnnotation(f.Name, groupOf, []string{title})
			}
		})
	}
	key := func(name, key, usage string) {
		fs.String(name, "", usage) // its key knows what it may be
		fs.SetAnnotation(name, keyOf, []string{key})
	}
	key("method", "objective.method",
		"`METHOD` of the output layer, or several joined by a plus; -method=help describes them")
	fs.StringVar(&o.preset, "preset", "", "preset `NAME` to start from, of those listed below")
	fs.StringVar(&o.config, "config", "", "TOML `FILE` of keys that replace those of the preset")
	fs.StringArrayVar(&o.set, "set", nil, "`KEY=VALUE` replaces one key, as in train.max_tokens=2000; may repeat")
	key("vectors", "objective.vectors", "`FILE` of target vectors, .vec or .bin, also packed, "+
		"for methods that predict vectors; without it they are made from the training text")
	key("init", "train.init", "start from the weights of the run in `FOLDER`")
	group("What to train")

	key("data", "data.dir", "`DIR` that holds the texts; without it the run trains on the built-in sample")
	key("train", "data.train", "`NAME` of the training text: its files without folder and ending")
	key("valid", "data.valid", "`NAME` of the validation text")
	key("test", "data.test", "`NAME,NAME...` of the test texts")
	if s.Task != LanguageModel {
		key("src", "data.source", "`LANGUAGE` to translate from: the ending of its files")
		key("tgt", "data.target", "`LANGUAGE` to translate into")
	}
	group("Data")

	key("steps", "train.steps", "stop after `N` updates")
	key("epochs", "train.epochs", "stop after `N` passes over the data; with -steps, whichever ends first")
	key("seed", "train.seed", "seed `N` of all random streams")
	key("device", "train.device", "`DEVICE`: cpu, cuda, cuda:N or auto")
	key("threads", "train.threads", "`N` CPU threads; without it all that this process may use")
	fs.IntVar(&o.processes, "processes", 1, "train by `N` processes on this machine, which share its threads and each "+
		"update's batches (docs/scale.md)")
	group("Training")

	fs.StringVar(&o.out, "out", "", "`FOLDER` of the run (default experiments/"+s.Name+"/METHOD-PRESET-seedN)")
	fs.BoolVar(&o.resume, "resume", false, "continue the run in that folder")
	group("Run folder")

	fs.BoolVar(&o.plan, "plan", false,
		"print parameters, memory, settings, updates and how long they should take, and stop")
	fs.Float64Var(&o.speed.Operations, "device-flops", 0, "with -plan: floating point operations a second that "+
		"training reaches in each process, `F`, as in 4e14; without it what is measured here")
	fs.Float64Var(&o.speed.Bytes, "bandwidth", 0, "with -plan: bytes a second, `B`, that each process sends to "+
		"others, as in 5e10; without it what processes of one machine were found to")
	fs.BoolVar(&o.printConfig, "print-config", false,
		"print the resolved configuration, every key with its comment, and stop")
	fs.BoolVar(&o.quiet, "quiet", false, "show no bar, and warnings and errors alone; train.log has all the rest")
	fs.BoolVarP(&o.help, "help", "h", false, "print this")
	group("Other")
	return fs
}

// printHelp writes the flags by group, and the presets as their files describe them.
func (s *Spec) printHelp(fs *pflag.FlagSet) error {
	w := &strings.Builder{}
	command.Help{Name: s.Name, Summary: s.Summary, Usage: "[-flag=value ...]"}.Head(w)
	last := ""
	fs.VisitAll(func(f *pflag.Flag) {
		if group := f.Annotations[groupOf][0]; group != last {
			fmt.Fprintf(w, "\n%s:\n", group)
			last = group
		}
		command.ListFlags(w, fs, f.Name)
	})
	fmt.Fprintf(w, "\nPresets:\n")
	for _, name := range s.presetNames() {
		p, err := s.preset(name)
		if err != nil {
			return err
		}
		use := ""
		switch name {
		case s.DefaultPreset:
			if use = "  (default with -data)"; s.BySize != nil {
				use = ""
			}
		case samplePreset:
			use = "  (default without -data)"
		}
		fmt.Fprintf(w, "  %-20s %s%s\n  %-20s %s; %s\n", name, p.Title, use, "", p.Size, p.Duration)
		for _, row := range p.Published {
			fmt.Fprintf(w, "  %-20s -method=%s\n", "", row)
		}
	}
	w.WriteString("\nAll other settings are keys, given with -set or -config; -print-config prints them all, " +
		"and docs/keys.md explains them.\n")
	_, err := io.WriteString(s.Stdout, w.String())
	return err
}
