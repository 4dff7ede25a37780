package experiment

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/objectives"
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

// options are the flags of all training runs. Those that stand for a key of the configuration hold text, which the key
// itself checks.
type options struct {
	Method  string   `flag:"method" group:"What to train" key:"objective.method" help:"<METHOD> of the output layer, or several joined by a plus; -method=help describes them"`
	Preset  string   `flag:"preset" help:"preset <NAME> to start from, of those listed below"`
	Config  string   `flag:"config" help:"TOML <FILE> of keys that replace those of the preset"`
	Set     []string `flag:"set" help:"<KEY=VALUE> replaces one key, as in train.max_tokens=2000; may repeat"`
	Vectors string   `flag:"vectors" key:"objective.vectors" help:"<FILE> of target vectors, .vec or .bin, also packed, for methods that predict vectors; without it they are made from the training text"`
	Init    string   `flag:"init" key:"train.init" help:"train the run in <FOLDER> further: its weights, network, tokenizer and vocabulary (docs/finetuning.md)"`

	Data  string `flag:"data" group:"Data" key:"data.dir" help:"<DIR> that holds the texts; without it the run trains on the built-in sample"`
	Train string `flag:"train" key:"data.train" help:"<NAME> of the training text: its files without folder and ending"`
	Valid string `flag:"valid" key:"data.valid" help:"<NAME> of the validation text"`
	Test  string `flag:"test" key:"data.test" help:"<NAME,NAME...> of the test texts"`
	Src   string `flag:"src" key:"data.source" help:"<LANGUAGE> to translate from: the ending of its files"`
	Tgt   string `flag:"tgt" key:"data.target" help:"<LANGUAGE> to translate into"`

	Steps     string `flag:"steps" group:"Training" key:"train.steps" help:"stop after <N> updates"`
	Epochs    string `flag:"epochs" key:"train.epochs" help:"stop after <N> passes over the data; with -steps, whichever ends first"`
	Seed      string `flag:"seed" key:"train.seed" help:"seed <N> of all random streams"`
	Device    string `flag:"device" key:"train.device" help:"<DEVICE>: cpu, cuda, cuda:N or auto"`
	Threads   string `flag:"threads" key:"train.threads" help:"<N> CPU threads; without it all that this process may use"`
	Processes int    `flag:"processes" default:"1" help:"train by <N> processes on this machine, which share its threads and each update's batches (docs/scale.md)"`

	Out    string `flag:"out" group:"Run folder" help:"<FOLDER> of the run (default experiments/RUN/METHOD-PRESET-seedN)"`
	Resume string `flag:"resume" default:"false" bare:"true" choice:"true false auto" help:"continue the run in that folder; -resume=auto begins one where there is none, and ends well where it is finished"`

	Plan        bool    `flag:"plan" group:"Other" help:"print parameters, memory, settings, updates and how long they should take, and stop"`
	DeviceFlops float64 `flag:"device-flops" range:"(0,inf)" with:"plan" help:"with -plan: floating point operations a second that training reaches in each process, <F>, as in 4e14; without it what is measured here"`
	Bandwidth   float64 `flag:"bandwidth" range:"(0,inf)" with:"plan" help:"with -plan: bytes a second, <B>, that each process sends to others, as in 5e10; without it what processes of one machine were found to"`
	PrintConfig bool    `flag:"print-config" help:"print the resolved configuration, every key with its comment, and stop"`
	Quiet       bool    `flag:"quiet" help:"show no bar, and warnings and errors alone; train.log has all the rest"`
	Help        bool    `flag:"help,h" help:"print this"`
}

// flags defines the flags of a run, in the order of help. Once they are parsed, check reports what they do not allow.
func (s *Spec) flags(o *options) (flags *pflag.FlagSet, check func() error) {
	var without []string
	if s.Task == LanguageModel {
		without = []string{"src", "tgt"}
	}
	flags = command.Flags(s.Name)
	return flags, command.Define(flags, o, without...)
}

// read parses a command line.
func (s *Spec) read(args []string) (*options, *pflag.FlagSet, error) {
	o := &options{}
	flags, check := s.flags(o)
	if err := flags.Parse(command.NormalizeArgs(args, flags)); err != nil {
		return nil, nil, command.FlagError(err, flags, s.Name)
	}
	switch {
	case o.Help:
		return nil, nil, cmp.Or(s.printHelp(flags), command.ErrHelp)
	case flags.NArg() > 0:
		return nil, nil, command.Usagef("unexpected argument %q: every option starts with a dash (%s -h lists them)",
			flags.Arg(0), s.Name)
	case o.Method == "help":
		fmt.Fprint(s.Stdout, objectives.Help())
		return nil, nil, command.ErrHelp
	}
	return o, flags, check()
}

// printHelp writes the flags by group, and the presets as their files describe them.
func (s *Spec) printHelp(fs *pflag.FlagSet) error {
	w := &strings.Builder{}
	command.Help{Name: s.Name, Summary: s.Summary, Usage: "[-flag=value ...]"}.Head(w)
	fs.VisitAll(func(f *pflag.Flag) {
		if group := f.Annotations[command.GroupOf]; group != nil {
			fmt.Fprintf(w, "\n%s:\n", group[0])
		}
		command.ListFlags(w, fs, f.Name)
	})
	fmt.Fprintf(w, "\nPresets:\n")
	for _, name := range s.choices() {
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
		case finetunePreset:
			use = "  (default with -init)"
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
