package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// Settings are a command line in full: the resolved configuration and what to do with it.
type Settings struct {
	Config Config
	Out    string               // run folder
	Plan   bool                 // print the plan and stop
	Quiet  bool                 // show warnings and errors alone, and no bar
	Speed  parallel.Speed       // that the plan goes by; what is 0 is not known
	Place  parallel.Environment // among processes that train together
	Launch int                  // start this many processes of this program instead; 0 does not
	Notes  []string             // sentences for the user before anything else
	Args   []string             // the command line, program first

	layers   *layers
	previous *Config // on resume, the configuration that Out holds
}

// Resume says whether the run in Out goes on, instead of one that begins.
func (s *Settings) Resume() bool { return s.previous != nil }

// byHand says whether the user gave a key, by flag, -set or -config.
func (s *Settings) byHand(key string) bool { return s.layers.byHand[key] }

func (s *Settings) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// Parse reads a command line, without the program's name, into settings. Layers lie in the order preset, -config, -set,
// flags; with -resume the run folder's configuration takes the preset's place. Help is printed to Spec.Stdout and
// returned as ErrHelp; a *command.UsageError says what in args means nothing.
func Parse(spec *Spec, args []string) (*Settings, error) {
	o, flags, err := spec.read(args)
	if err != nil {
		return nil, err
	}
	s := &Settings{Plan: o.Plan, Quiet: o.Quiet}
	s.Speed = parallel.Speed{Operations: o.DeviceFlops, Bytes: o.Bandwidth}
	s.Args = append([]string{os.Args[0]}, args...)
	if err := s.build(spec, o, flags); err != nil {
		return nil, err
	}
	if s.Resume() && o.Resume == "auto" && !s.Plan && !o.PrintConfig {
		switch err := s.finished(); {
		case errors.As(err, new(*finishedError)):
			if s.Place.Rank == 0 {
				fmt.Fprintln(spec.Stdout, err)
			}
			return nil, command.ErrHelp
		case err != nil:
			return nil, err
		}
	}
	if o.PrintConfig {
		fmt.Fprint(spec.Stdout, s.Config.TOML())
		return nil, command.ErrHelp
	}
	return s, nil
}

func (s *Settings) build(spec *Spec, o *options, flags *pflag.FlagSet) error {
	var err error
	if s.Place, s.Launch, err = parallel.Place(o.Processes, o.Plan); err != nil {
		return &command.UsageError{Err: err}
	}
	l, err := spec.layers(o, flags)
	if err != nil {
		return err
	}
	if s.Out = o.Out; s.Out == "" {
		c := l.config
		name := fmt.Sprintf("%s-%s-seed%d", c.Objective.Method, c.Preset, c.Train.Seed)
		s.Out = filepath.Join("experiments", spec.Name, name)
	}
	if o.Resume != "false" {
		if err := s.takeUp(o.Resume == "auto"); err != nil {
			return err
		}
	}
	if s.Resume() {
		l = newLayers() // the folder's configuration takes the preset's place
		l.config = *s.previous
		if err := spec.handLayers(l, o, flags); err != nil {
			return err
		}
	}
	if l.unfit != nil {
		return l.unfit
	}
	s.Config, s.layers = l.config, l
	if l.chosen != "" {
		s.note("%s", l.chosen)
	}
	n := max(1, s.Launch, s.Place.Size)
	switch was := s.Config.Train; {
	case !s.Resume() && n > 1 && !s.byHand("train.processes"):
		s.Config.Train.Processes = n
	case s.Resume() && n != was.Processes && !s.byHand("train.threads"):
		s.note("train.threads stays %d in each process, as with train.processes = %d, and the number of processes is %d "+
			"now: -threads sets another", was.Threads, was.Processes, n)
	}
	if err := s.checkTask(spec); err != nil {
		return err
	}
	method, err := s.Config.Objective.Resolve()
	if err != nil {
		return &command.UsageError{Err: err}
	}
	if method.WordTargets && spec.Task == LanguageModel {
		return command.Usagef("%s aims at vectors and gives words no probability: "+
			"a language model wants a method with a softmax", s.Config.Objective.Method)
	}
	s.noteUnread()
	if err := s.Config.forgetOthers(); err != nil {
		return err
	}
	if !s.Resume() {
		if err := s.Config.forgetUnread(l.byHand); err != nil {
			return err
		}
	}
	if l.start != nil {
		if err := s.Config.Objective.StartsFrom(l.start.Objective); err != nil {
			return command.Usagef("-init %s: %w", s.Config.Train.Init, err)
		}
		s.note("-init: keeping the network, the tokenizer and the vocabulary of %s; train.learning_rate = %g",
			s.Config.Train.Init, s.Config.Train.LearningRate)
		if method.WordTargets && slices.Contains(l.taken(), "decode") {
			s.chooseByWords() // the search is that run's
		} else if method.WordTargets {
			s.useNearestWords()
		}
	} else if err := s.useUnits(method.Needs); err != nil {
		return err
	}
	if err := s.finish(); err != nil {
		return err
	}
	if err := s.Config.Validate(); err != nil {
		return &command.UsageError{Err: err}
	}
	if s.previous != nil {
		if sc, steps := s.Config.Schedule, s.Config.Train.Steps; slices.Contains([]string{"cosine", "linear"}, sc.Kind) &&
			sc.Period > 0 && steps > sc.Period && sc.Minimum == 0 {
			s.note("schedule.period = %d, from which update on the learning rate is 0, and train.steps = %d: the run learns "+
				"nothing behind it, and a run that starts anew may have another period", sc.Period, steps)
		}
		if s.Config.Train.Precision == "auto" { // chosen when the run began
			s.Config.Train.Precision = s.previous.Train.Precision
		}
		return s.compare()
	}
	return nil
}

// checkTask refuses a network that learns another task than the command's.
func (s *Settings) checkTask(spec *Spec) error {
	task, kind := s.Config.Task(), s.Config.Model.Kind
	if task == "" {
		return command.Usagef("model.kind = %q is no network: it wants one of %s", kind, kinds())
	}
	if want := spec.Task; task != want {
		return command.Usagef("runs/%s trains a %s, and model.kind = %q is a %s",
			spec.Name, want.network(), kind, task.network())
	}
	return nil
}

// noteUnread says which keys of the user's nothing will read. A resolved configuration has those of all methods and of
// all networks of its task: one at its default goes without saying.
func (s *Settings) noteUnread() {
	task, kind, method := s.Config.Task(), s.Config.Model.Kind, s.Config.Objective
	defaults := schema.Defaults()
	for _, k := range schema.Keys() {
		switch usual := schema.Value(&s.Config, k) == schema.Value(&defaults, k); {
		case !s.byHand(k.Name):
		case !k.Of(string(task)):
			s.note("a %s has no use for %s", task.network(), k.Name)
		case usual:
		case len(k.Kinds) > 0 && !slices.Contains(k.Kinds, kind):
			s.note("a network of the kind %s has no use for %s", kind, k.Name)
		case !method.Reads(k):
			s.note("%s has no use for %s", method.Method, k.Name)
		}
	}
	if t := s.Config.Train; s.byHand("train.bptt_longest") && t.Longest > 0 && !t.Random {
		s.note("train.bptt_random = false draws no lengths, and has no use for train.bptt_longest")
	}
}

// layers lays preset, file, assignments and flags over one another.
func (s *Spec) layers(o *options, flags *pflag.FlagSet) (*layers, error) {
	hand := newLayers() // what the user wrote, to learn which preset it is meant for
	if err := s.handLayers(hand, o, flags); err != nil {
		return nil, err
	}
	if run := hand.config.Run; run != "" && run != s.Name {
		return nil, command.Usagef("%s is a configuration of runs/%s: use that command, or remove its key run",
			cmp.Or(o.Config, hand.origin["run"]), run)
	}
	preset, chosen := cmp.Or(o.Preset, hand.config.Preset), ""
	init := hand.config.Train.Init
	if preset == "" && init != "" && s.Task == Translation {
		preset = finetunePreset
	}
	if preset == finetunePreset && init == "" {
		return nil, command.Usagef("preset %s trains another run's translator further: name that run with -init",
			finetunePreset)
	}
	// It goes on with its own preset.
	goesOn := o.Resume != "false" && o.Out != "" && files.Exists(filepath.Join(o.Out, ConfigFile))
	if d := hand.config.Data; preset == "" && d.Dir != "" && s.BySize != nil && !goesOn {
		if err := noData(d.Dir, hand.origin["data.dir"]); err != nil {
			return nil, err
		}
		pairs, err := d.Names().Count(d.TextSettings, d.Cache())
		if err != nil {
			return nil, err
		}
		preset = s.BySize(pairs)
		chosen = fmt.Sprintf("%d pairs in %s: preset %s, which suits a corpus of that size; "+
			"-plan shows it, and -preset chooses another", pairs, d.Train, preset)
	}
	usual := samplePreset
	if hand.config.Data.Dir != "" {
		usual = s.DefaultPreset
	}
	l := newLayers()
	l.chosen = chosen
	for _, name := range presetsBelow(cmp.Or(preset, usual), usual) {
		p, err := s.preset(name)
		if err != nil {
			return nil, err
		}
		if err := l.preset(p); err != nil {
			return nil, err
		}
		l.config.Run, l.config.Preset = s.Name, name
	}
	if init == "" {
		return l, s.handLayers(l, o, flags)
	}
	l.unfit = l.startFrom(s, init)
	if err := s.handLayers(l, o, flags); err != nil || l.unfit != nil {
		return l, err
	}
	l.unfit = l.contradiction(init)
	return l, nil
}

// handLayers lays what the user wrote over l: -config, -set, flags.
func (s *Spec) handLayers(l *layers, o *options, flags *pflag.FlagSet) error {
	if o.Config != "" {
		if err := l.file(o.Config); err != nil {
			return err
		}
	}
	for _, assignment := range o.Set {
		if err := l.assign(assignment, "-set"); err != nil {
			return err
		}
	}
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if key := f.Annotations[command.KeyOf]; key != nil && err == nil {
			err = l.give(key[0], f.Value.String(), "-"+f.Name)
		}
	})
	l.config.Preset = cmp.Or(o.Preset, l.config.Preset)
	return err
}

// finish settles what the layers leave open: sample or files, absolute paths, the number of threads.
func (s *Settings) finish() error {
	c, origin := &s.Config, s.layers.origin
	switch {
	case c.Data.Dir == "":
		if !c.Data.Sample && origin["data.sample"] == "-set" {
			return command.Usagef("data.sample = false needs a corpus: give -data")
		}
		for _, text := range [][2]string{
			{"train", c.Data.Train}, {"valid", c.Data.Valid}, {"test", strings.Join(c.Data.Test, ",")},
		} {
			if name := text[0]; text[1] != "" && origin["data."+name] == "-"+name {
				return command.Usagef("-%s=%s names a text, and nothing says where it lies: -data names its folder", name,
					text[1])
			}
		}
		c.Data.Sample = true
		s.note("no -data: training on the built-in sample, an artificial corpus generated from seed %d",
			c.Data.SampleSeed)
	case c.Data.Sample && s.byHand("data.sample") &&
		(origin["data.sample"] == "-set" || origin["data.sample"] == origin["data.dir"]):
		return command.Usagef("data.sample = true and a corpus in %s exclude each other: leave out one", c.Data.Dir)
	default:
		c.Data.Sample = false
	}
	for _, k := range schema.Keys() {
		path := ""
		if k.Path != "" {
			path = schema.Text(c, k)
		}
		if path == "" {
			continue
		}
		if s.byHand(k.Name) && !(s.previous != nil && k.Name == "train.init") { // which the run no longer needs
			if err := given(k.Name, path, origin[k.Name]); err != nil {
				return err
			}
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		if err := schema.Put(c, k.Name, absolute); err != nil {
			return err
		}
	}
	if c.Train.Threads == 0 {
		c.Train.Threads = max(1, runtime.GOMAXPROCS(0)/max(1, s.Launch, s.Place.LocalSize))
	}
	return nil
}

// given is the error of a file or folder that a key names and that is not one; origin is what named it.
func given(key, path, origin string) error {
	switch key {
	case "data.dir":
		return noData(path, origin)
	case "train.init":
		if err := files.NoFolder(path); err != nil {
			return fmt.Errorf("%s: %w: train.init is the folder that a training run wrote", origin, err)
		}
	default:
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%s: %s: %w", origin, key, files.Missing(err))
		}
	}
	return nil
}

// noData is the error of a folder of texts that is none; origin is what named it.
func noData(dir, origin string) error {
	if err := files.NoFolder(dir); err != nil {
		return fmt.Errorf("%s: %w: data.dir is the folder that holds the texts", origin, err)
	}
	return nil
}

// useUnits makes a preset follow the method, and notes each change: one that aims at vectors of words wants whole
// words, which the languages do not share; another wants frequent words first, as merges are by themselves. What the
// user set otherwise by hand is refused.
func (s *Settings) useUnits(method objectives.Needs) error {
	c, wordTargets := &s.Config, method.WordTargets
	if c.Task() == LanguageModel { // one text
		wanted := method.FrequentFirst && c.Data.Units == "word" && s.previous == nil // a resumed run keeps its order
		if wanted && c.Data.VocabularyOrder != "frequency" && !s.byHand("data.vocabulary_order") {
			c.Data.VocabularyOrder = "frequency"
			s.note("%s wants frequent words first: data.vocabulary_order = \"frequency\"", c.Objective.Method)
		}
		return nil
	}
	if wordTargets && c.Data.TargetUnits != "word" {
		if s.byHand("data.target_units") {
			return command.Usagef("%s predicts whole words: it wants data.target_units = \"word\"", c.Objective.Method)
		}
		c.Data.TargetUnits = "word"
		s.note("%s predicts whole words: data.target_units = \"word\"", c.Objective.Method)
	}
	if wordTargets && s.previous == nil {
		s.useNearestWords()
	}
	if c.Data.HasWords() && c.Data.Joint && !s.byHand("data.joint") {
		c.Data.Joint = false
		s.note("whole words share no pieces: data.joint = false")
	}
	if c.Data.HasWords() && c.Data.JointCodes && !c.Data.Joint && !s.byHand("data.joint_codes") {
		c.Data.JointCodes = false
	}
	if !c.Data.Joint && c.Model.Tying == "all" && !s.byHand("model.tying") {
		c.Model.Tying = "decoder"
		s.note("the languages have no vocabulary in common: model.tying = \"decoder\"")
	}
	return nil
}

// useNearestWords makes the search of a method that aims at vectors the published one.
func (s *Settings) useNearestWords() {
	d := &s.Config.Decode
	if d.Beam > 1 && !s.byHand("decode.beam") {
		d.Beam = 1
		s.note("%s takes the nearest word at each step: decode.beam = 1", s.Config.Objective.Method)
	}
	s.chooseByWords()
	if !d.Alignment && !s.byHand("decode.replace_unk") {
		d.Alignment = true
		s.note("unknown words are copied from the source: decode.replace_unk = true")
	}
}

// chooseByWords has the translations choose the best checkpoint of a method that aims at vectors.
func (s *Settings) chooseByWords() {
	t := &s.Config.Train
	if t.PatienceOn != "bleu" && s.Config.Decode.ValidationBeam > 0 && !s.byHand("train.patience_on") {
		// Regularised forms make outputs shorter than the density's best, so that it falls while words get better.
		t.PatienceOn = "bleu"
		s.note("the nearest words, not their density, choose the best checkpoint: train.patience_on = \"bleu\"")
	}
}
