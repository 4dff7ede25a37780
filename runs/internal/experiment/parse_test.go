package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// testSpec is a run with two presets: sample, with 100 steps, and big, with 900.
func testSpec(t *testing.T) *Spec {
	t.Helper()
	return &Spec{
		Name: "toy", Summary: "A toy.", Task: Translation, DefaultPreset: "big", Stdout: &bytes.Buffer{},
		FS: fstest.MapFS{
			"sample.toml": {Data: []byte(`
title = "Built-in toys"
size = "1 M parameters"
duration = "2 min on two cores"
[data]
name = "sample"
[train]
steps = 100
`)},
			"big.toml": {Data: []byte(`
title = "Big toys"
size = "39 M parameters"
duration = "3 days on a GPU"
published = ["mle: BLEU 27.3 (Toymakers 2017)"]
[data]
name = "big"
[train]
steps = 900
`)},
			"main.go": {Data: []byte("package main")},
		},
	}
}

// TestKeysOfAnotherTask: training does not see them, and config.toml, which leaves them out, says all of the run.
func TestKeysOfAnotherTask(t *testing.T) {
	defaults := Default()
	for _, c := range []struct {
		spec *Spec
		args []string
	}{
		{languageSpec(t), []string{"-set=train.normalise=sentences", "-set=data.merges=7"}},
		{testSpec(t), []string{"-set=train.asgd=finetune", "-set=train.ar=2"}},
	} {
		s, err := Parse(c.spec, c.args)
		if err != nil {
			t.Fatal(err)
		}
		if s.Config.Train.Normalise != defaults.Train.Normalise || s.Config.Train.ASGD != defaults.Train.ASGD ||
			s.Config.Train.AR != defaults.Train.AR || s.Config.Data.Merges != defaults.Data.Merges &&
			c.spec.Task == LanguageModel {
			t.Errorf("%s: train is %+v", c.args, s.Config.Train)
		}
		if len(s.Notes) < len(c.args) || !strings.Contains(strings.Join(s.Notes, "\n"), "has no use for train.") {
			t.Errorf("%s: the notes are %q", c.args, s.Notes)
		}
	}
}

// languageSpec is a run of a language model with one preset.
func languageSpec(t *testing.T) *Spec {
	s := testSpec(t)
	s.Task, s.DefaultPreset = LanguageModel, "sample"
	s.FS = fstest.MapFS{"sample.toml": {Data: []byte("title = \"Words\"\nsize = \"1 M\"\nduration = \"1 " +
		"min\"\n[model]\nkind = \"awd-lstm\"\n")}}
	return s
}

func TestParseSample(t *testing.T) {
	s, err := Parse(testSpec(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Config.Data.Sample || s.Config.Preset != "sample" || s.Config.Run != "toy" || s.Config.Train.Steps != 100 {
		t.Errorf("without -data: %+v", s.Config)
	}
	if s.Out != filepath.Join("experiments", "toy", "mle-sample-seed1") {
		t.Errorf("default folder %s", s.Out)
	}
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "built-in sample") {
		t.Errorf("the sample is not announced: %q", s.Notes)
	}
	if s.Config.Train.Threads != runtime.GOMAXPROCS(0) {
		t.Errorf("threads were left at %d", s.Config.Train.Threads)
	}
}

func TestParseLayers(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "my.toml")
	text := "[train]\nmax_tokens = 11\nclip_norm = 1\nbeta1 = 0.5\n[data]\nsource = \"fr\"\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Parse(testSpec(t), []string{
		"-set", "train.clip_norm=2", "-set=train.beta1=0.6", "-set", "objective.method=mle", "-method=spectrum",
		"-data", folder, "-config=" + file,
		"-test", "a,b", "-src", "de", "-tgt=en", "-train", "tr", "-valid=va", "-seed", "7", "-steps=5", "-epochs=2",
		"-threads", "3", "-device=cpu", "-out=x", "-plan",
	})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Config
	got := fmt.Sprintln(c.Preset, c.Train.MaxTokens, c.Train.ClipNorm, c.Train.Beta1, c.Objective.Method,
		c.Data.Dir == folder, c.Data.Sample, c.Data.Test,
		c.Data.Source, c.Data.Target, c.Data.Train, c.Data.Valid, c.Train.Seed, c.Train.Steps, c.Train.Epochs,
		c.Train.Threads, c.Train.Device, s.Out, s.Plan)
	if want := "big 11 2 0.6 spectrum true false [a b] de en tr va 7 5 2 3 cpu x true"; strings.Join(strings.Fields(got), " ") != want {
		t.Errorf("layers gave\n%s, want\n%s", got, want)
	}
	if !s.byHand("train.beta1") || !s.byHand("train.max_tokens") || !s.byHand("train.steps") ||
		s.byHand("train.beta2") {
		t.Error("what came by hand was forgotten")
	}
	if len(s.Notes) != 0 {
		t.Errorf("notes without need: %q", s.Notes)
	}
}

// A path from the working directory is absolute in the configuration: it repeats the run from anywhere.
func TestParsePaths(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("corpus", 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := Parse(testSpec(t), []string{"-data=corpus"})
	if err != nil || s.Config.Data.Dir != filepath.Join(here, "corpus") || s.Config.Preset != "big" {
		t.Fatalf("%v, %+v", err, s)
	}
	_, err = Parse(testSpec(t), []string{"-data=nowhere"})
	if err == nil || err.Error() != `-data: there is no folder nowhere: data.dir is the folder that holds the texts` ||
		command.ExitCode(err) != 1 {
		t.Errorf("a missing folder gave %v", err)
	}
}

// What -print-config prints and a run folder holds is one text, and given with -config it repeats the run, with or
// without a corpus.
func TestPrintConfig(t *testing.T) {
	data := t.TempDir()
	for _, test := range []struct {
		spec func(*testing.T) *Spec
		args []string
	}{
		{testSpec, []string{"-data", data, "-set", "train.beta1=0.5", "-preset=sample"}},
		{testSpec, []string{"-method", "vmf"}},
		{testSpec, []string{"-data", data, "-set", `data.name="it's \"mine\" ä"`, "-test=", "-epochs=3",
			"-set=schedule.kind=cosine"}},
		{languageSpec, []string{"-method=adaptive+spectrum", "-seed=4", "-threads=3"}},
	} {
		first, err := Parse(test.spec(t), test.args)
		if err != nil {
			t.Fatalf("%q: %v", test.args, err)
		}
		spec := test.spec(t)
		if _, err := Parse(spec, append([]string{"-print-config"}, test.args...)); !errors.Is(err, command.ErrHelp) ||
			command.ExitCode(err) != 0 {
			t.Fatalf("%q: -print-config gave %v", test.args, err)
		}
		printed := spec.Stdout.(*bytes.Buffer).String()

		file := filepath.Join(data, "printed.toml")
		if err := os.WriteFile(file, []byte(printed), 0o644); err != nil {
			t.Fatal(err)
		}
		second, err := Parse(test.spec(t), []string{"-config", file})
		if err != nil {
			t.Fatalf("%q: %v", test.args, err)
		}
		if diff := cmp.Diff(first.Config, second.Config, inner); diff != "" {
			t.Errorf("%q: not the same run (-first +second):\n%s", test.args, diff)
		}

		first.Out = t.TempDir()
		run, err := Open(first, record.Env{})
		if err != nil {
			t.Fatal(err)
		}
		written, err := os.ReadFile(run.Path(ConfigFile))
		if err := errors.Join(err, run.Close()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(written), "\n"), strings.Split(printed, "\n")); diff != "" {
			t.Errorf("%q: the run folder holds another text (-folder +printed):\n%s", test.args, diff)
		}

		other := test.spec(t)
		other.Name = "other"
		if _, err := Parse(other, []string{"-config", file}); err == nil ||
			!strings.Contains(err.Error(), "is a configuration of runs/toy") {
			t.Errorf("another run's configuration gave %v", err)
		}
	}
	if _, err := Parse(testSpec(t), []string{"-print-config", "-set=model.heads=7"}); command.ExitCode(err) != 2 {
		t.Errorf("a configuration that cannot be trained is printed: %v", err)
	}
}

func TestParseWordTargets(t *testing.T) {
	s, err := Parse(testSpec(t), []string{"-method=vmf"})
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Config; c.Data.TargetUnits != "word" || c.Data.Joint || c.Model.Tying != "decoder" {
		t.Errorf("vmf kept %q, joint %v, tying %q", c.Data.TargetUnits, c.Data.Joint, c.Model.Tying)
	}
	if !strings.Contains(strings.Join(s.Notes, "\n"), `vmf predicts whole words: data.target_units = "word"`) {
		t.Errorf("word targets are not announced: %q", s.Notes)
	}
	if s.Config.Train.PatienceOn != "bleu" {
		t.Errorf("the best checkpoint is chosen by %s", s.Config.Train.PatienceOn)
	}
	if c := s.Config.Decode; c.Beam != 1 || !c.Alignment ||
		!strings.Contains(strings.Join(s.Notes, "\n"), "decode.beam = 1") {
		t.Errorf("vmf searches with %+v and notes %q", c, s.Notes)
	}
	s, err = Parse(testSpec(t), []string{"-method=vmf", "-set=decode.beam=3", "-set=decode.replace_unk=false"})
	if err != nil || s.Config.Decode.Beam != 3 || s.Config.Decode.Alignment {
		t.Errorf("a beam by hand became %+v (%v)", s.Config.Decode, err)
	}
	file := filepath.Join(t.TempDir(), "x.vec")
	if err := os.WriteFile(file, []byte("a 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err = Parse(testSpec(t), []string{"-vectors", file})
	if err != nil || !strings.Contains(strings.Join(s.Notes, "\n"), "mle has no use for objective.vectors") {
		t.Errorf("vectors without a use for them: notes %q (%v)", s.Notes, err)
	}
	if _, err := Parse(testSpec(t), []string{"-method=vmf", "-set=data.target_units=bpe"}); command.ExitCode(err) != 2 {
		t.Errorf("vmf with bpe by hand gave %v", err)
	}
	s, err = Parse(testSpec(t), []string{"-set=data.target_units=word"})
	if err != nil || s.Config.Data.Joint {
		t.Errorf("word targets by hand gave %v", err)
	}
	if _, err = Parse(testSpec(t), []string{"-method=vmf", "-set=data.joint=true"}); command.ExitCode(err) != 2 {
		t.Errorf("vmf with a joint vocabulary by hand gave %v", err)
	}
}

func TestParseUsageErrors(t *testing.T) {
	for arg, want := range map[string]string{
		"-metod=mle":             "unknown flag -metod: did you mean -method? (toy -h lists the flags)",
		"--stps=3":               "unknown flag -stps: did you mean -steps? (toy -h lists the flags)",
		"-q":                     "unknown flag -q: did you mean",
		"-method":                "-method wants a value",
		"-steps=ten":             `-steps: train.steps wants a whole number of at least 0, not the text "ten"`,
		"-plan=7":                "-plan=7: it wants true or false",
		"-steps=-1":              "-steps: train.steps = -1 is out of range: it wants a whole number of at least 0",
		"-preset=huge":           `unknown preset "huge": runs/toy has sample, big, finetune`,
		"-method=nil":            `there is no method "nil"`,
		"-method=mle+spectrum":   "mle and spectrum do not join",
		"-set=run=other":         "-set is a configuration of runs/other: use that command, or remove its key run",
		"-set=model.kind=lstm":   `model.kind = "lstm" is no network: it wants one of transformer, attentional, awd-lstm`,
		"-set=model.kind=qrnn":   `runs/toy trains a translator, and model.kind = "qrnn" is a language model`,
		"-device=gpu":            `train.device = "gpu" is no device`,
		"-set=train.stps=1":      "-set: unknown key train.stps: did you mean train.steps?",
		"stray":                  `unexpected argument "stray"`,
		"-steps=0":               "training has no end",
		"-train=":                "data.train and data.valid must name texts",
		"-train=/corpus/a.txt":   "-train=/corpus/a.txt names a text, and nothing says where it lies: -data names its folder",
		"-test=a,b":              "-test=a,b names a text, and nothing says where it lies: -data names its folder",
		"-set=data.sample=false": "data.sample = false needs a corpus: give -data",
	} {
		_, err := Parse(testSpec(t), []string{arg})
		if err == nil || !strings.Contains(err.Error(), want) || command.ExitCode(err) != 2 {
			t.Errorf("%s gave %v (exit %d), want %s", arg, err, command.ExitCode(err), want)
		}
	}
	_, err := Parse(testSpec(t), []string{"-data", t.TempDir(), "-set=data.sample=true"})
	if err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("sample and corpus gave %v", err)
	}
}

func TestParseHelp(t *testing.T) {
	spec := testSpec(t)
	if _, err := Parse(spec, []string{"-h"}); !errors.Is(err, command.ErrHelp) || command.ExitCode(err) != 0 {
		t.Fatalf("-h gave %v", err)
	}
	help := spec.Stdout.(*bytes.Buffer).String()
	for _, want := range []string{
		"A toy.", "-method METHOD", "-set KEY=VALUE", "-src LANGUAGE", "-resume", "-print-config", "-h, -help",
		"docs/keys.md",
		"sample               Built-in toys  (default without -data)\n", "1 M parameters; 2 min on two cores\n",
		"big                  Big toys  (default with -data)\n", "39 M parameters; 3 days on a GPU\n",
		"-method=mle: BLEU 27.3 (Toymakers 2017)\n",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("help lacks %q:\n%s", want, help)
		}
	}
	if strings.Index(help, "Built-in toys") > strings.Index(help, "Big toys") {
		t.Errorf("the preset to begin with does not come first:\n%s", help)
	}
	spec = testSpec(t)
	spec.Task = LanguageModel
	if _, err := Parse(spec, []string{"-src=de"}); command.ExitCode(err) != 2 {
		t.Errorf("a language model took -src: %v", err)
	}
}

// A language model has a softmax over whole words, sorted by frequency where the method wants that, and no use for a
// translator's keys.
func TestParseLanguageModel(t *testing.T) {
	s, err := Parse(languageSpec(t), []string{"-method=adaptive", "-set=data.merges=7"})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(s.Notes, "\n")
	if s.Config.Data.VocabularyOrder != "frequency" ||
		!strings.Contains(notes, `adaptive wants frequent words first: data.vocabulary_order = "frequency"`) {
		t.Errorf("the order of words is %s, and the notes are %s", s.Config.Data.VocabularyOrder, notes)
	}
	if !strings.Contains(notes, "a language model has no use for data.merges") {
		t.Errorf("nothing says that data.merges is not read: %s", notes)
	}
	s, err = Parse(languageSpec(t), []string{"-method=adaptive", "-set=data.vocabulary_order=appearance"})
	if err != nil || s.Config.Data.VocabularyOrder != "appearance" {
		t.Errorf("an order by hand became %+v, %v", s, err)
	}
	folder := runFolder(t, languageSpec(t), "-method=adaptive", "-set=data.vocabulary_order=appearance")
	s, err = Parse(languageSpec(t), []string{"-out", folder, "-resume"})
	if err != nil || s.Config.Data.VocabularyOrder != "appearance" {
		t.Errorf("resumed, an order by hand became %+v, %v", s, err)
	}
	for _, method := range []string{"adaptive", "mixtape"} { // of pieces the first merges are frequent
		s, err := Parse(SpecOf("ptb"), []string{"-preset=gpt-small", "-method=" + method})
		if err != nil || s.Config.Data.VocabularyOrder != "appearance" || s.Config.Data.Units != "bytes-bpe" {
			t.Errorf("%s of pieces: %+v, %v", method, s, err)
		}
	}
	_, err = Parse(languageSpec(t), []string{"-method=vmf"})
	wantError(t, err, "vmf aims at vectors", "a language model wants a method with a softmax")
	_, err = Parse(languageSpec(t), []string{"-set=model.kind=transformer"})
	wantError(t, err, `runs/toy trains a language model, and model.kind = "transformer" is a translator`)
}

// Where the run has presets by size, the number of training pairs chooses one, says so, and gives way to -preset; a
// resumed run keeps its own.
func TestParseBySize(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"train.en", "train.de"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("a\nb\nc\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	spec := testSpec(t)
	var asked []int
	spec.BySize = func(pairs int) string {
		asked = append(asked, pairs)
		return "sample"
	}
	args := []string{"-data", folder, "-set", "data.store=none"}
	s, err := Parse(spec, args)
	if err != nil || s.Config.Preset != "sample" || s.Config.Train.Steps != 100 || !cmp.Equal(asked, []int{3}) {
		t.Fatalf("preset %s, asked of %v, %v", s.Config.Preset, asked, err)
	}
	if want := "3 pairs in train: preset sample, which suits a corpus of that size; -plan shows it, and -preset " +
		"chooses another"; !cmp.Equal(s.Notes, []string{want}) {
		t.Errorf("it says %q", s.Notes)
	}
	if s, err = Parse(spec, append(args, "-preset=big")); err != nil || s.Config.Preset != "big" || len(s.Notes) > 0 ||
		len(asked) != 1 {
		t.Errorf("with -preset: %+v, %v, asked of %v", s, err, asked)
	}
	if _, err := Parse(spec, append(args, "-train=none")); err == nil ||
		!strings.Contains(err.Error(), "none.en: there is no such file; -train names it") {
		t.Errorf("without the text: %v", err)
	}
	out, moved := t.TempDir(), t.TempDir() // to where the text of a run in French went
	for path, text := range map[string]string{
		filepath.Join(out, ConfigFile):   strings.Replace(s.Config.TOML(), `source = "en"`, `source = "fr"`, 1),
		filepath.Join(moved, "train.fr"): "a\n", filepath.Join(moved, "train.de"): "a\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, err = Parse(spec, []string{"-resume", "-out", out, "-data", moved})
	if err != nil || s.Config.Data.Source != "fr" || s.Config.Preset != "big" || len(asked) != 1 {
		t.Errorf("a resumed run: %v, asked of %v", err, asked)
	}
}

// TestUnreadKeys: what the user gives and nothing reads is named, but not what a resolved configuration leaves at its
// default.
func TestUnreadKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.vec")
	if err := os.WriteFile(file, []byte("1 1\na 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec *Spec
		args string
		key  string // empty: nothing is named
	}{
		{testSpec(t), "-method=mle -vectors=" + file, "mle has no use for objective.vectors"},
		{testSpec(t), "-method=vmf -vectors=" + file, ""},
		{testSpec(t), "-method=mle -set=objective.gamma=2", "mle has no use for objective.gamma"},
		{testSpec(t), "-method=mle -set=objective.gamma=1", ""},
		{testSpec(t), "-method=cosreg+adversarial -set=objective.gamma=2", ""},
		{testSpec(t), "-method=cosreg -set=objective.label_smoothing=0.2", ""},
		{testSpec(t), "-method=vmf -set=objective.label_smoothing=0.2", "vmf has no use for objective.label_smoothing"},
		{testSpec(t), "-set=model.word_dropout=0.2", "a network of the kind transformer has no use for model.word_dropout"},
		{testSpec(t), "-set=model.heads=2", ""},
		{languageSpec(t), "-set=model.kind=awd-lstm -set=model.heads=2", "a network of the kind awd-lstm has no use for model.heads"},
		{languageSpec(t), "-set=model.kind=gru -set=model.input_noise=0.1", ""},
		{languageSpec(t), "-set=model.kind=transformer-xl -set=model.input_noise=0.1",
			"a network of the kind transformer-xl has no use for model.input_noise"},
		{languageSpec(t), "-set=train.bptt_random=false -set=train.bptt_longest=20",
			"train.bptt_random = false draws no lengths, and has no use for train.bptt_longest"},
		{languageSpec(t), "-set=train.bptt_random=true -set=train.bptt_longest=20", ""},
		{languageSpec(t), "-set=model.kind=transformer-xl -set=train.ar=2", "a network of the kind transformer-xl has no use for train.ar"},
	} {
		s, err := Parse(c.spec, strings.Fields(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		told := slices.DeleteFunc(s.Notes, func(note string) bool { return !strings.Contains(note, "has no use for") })
		if want := slices.DeleteFunc([]string{c.key}, func(s string) bool { return s == "" }); !slices.Equal(told, want) {
			t.Errorf("%s: the notes are %q, want %q", c.args, told, want)
		}
	}
}
