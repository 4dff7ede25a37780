package experiment

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

// Every key has a name, a meaning, and a default inside its own range; a slip in a tag shows here.
func TestKeysAreSound(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range keys() {
		if k.base() == "" || seen[k.name] {
			t.Errorf("key %q has no name of its own", k.name)
		}
		seen[k.name] = true
		if k.help == "" {
			t.Errorf("%s has no help", k.name)
		}
		if k.limits != nil && (math.IsNaN(k.limits.low) || k.limits.low >= k.limits.high) {
			t.Errorf("%s has a malformed range", k.name)
		}
		switch k.resume {
		case "", "free", "named", "location":
		default:
			t.Errorf("%s: resume is %q", k.name, k.resume)
		}
	}
	c := Default()
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults are no experiment: %v", err)
	}
	if c.Train.LearningRate != 5e-4 || c.Train.Epsilon != 1e-8 || c.Data.MaxRatio != 0 || !c.Data.Escape || c.Model.Kind != "transformer" {
		t.Errorf("defaults were not read from their tags: %+v", c)
	}
	if diff := cmp.Diff([]string{"test"}, c.Data.Test); diff != "" {
		t.Error(diff)
	}
}

func TestTextErrors(t *testing.T) {
	for _, test := range []struct{ toml, want string }{
		{"[train]\nlearning_rat = 1.0", "f.toml: unknown key train.learning_rat: did you mean train.learning_rate?"},
		{"[train]\nLearning_Rate = 1.0", "f.toml: unknown key train.Learning_Rate: did you mean train.learning_rate?"},
		{"[model]\nsteps = 3", "f.toml: unknown key model.steps: did you mean train.steps?"},
		{"steps = 3", "f.toml: unknown key steps: did you mean train.steps?"},
		{"[trian]\nsteps = 3", "f.toml: unknown section [trian]: did you mean [train]?"},
		{"train = 3", "f.toml: train wants a section [train], not the whole number 3"},
		{"[train]\nsteps = \"many\"", `f.toml: train.steps wants a whole number of at least 0, not the text "many"`},
		{"[train]\nsteps = 1.5", "f.toml: train.steps wants a whole number of at least 0, not the number 1.5"},
		{"[train]\nsteps = -1", "f.toml: train.steps = -1 is out of range: it wants a whole number of at least 0"},
		{"[train]\nlearning_rate = 0", "f.toml: train.learning_rate = 0.0 is out of range: it wants a number above 0"},
		{"[train]\nlearning_rate = nan", "f.toml: train.learning_rate = nan is out of range: it wants a number above 0"},
		{"[train]\nlearning_rate = inf", "f.toml: train.learning_rate = +inf is out of range: it wants a number above 0"},
		{"[model]\ndropout = 1.0", "f.toml: model.dropout = 1.0 is out of range: it wants a number of at least 0 and below 1"},
		{"[model]\nheads = 0", "f.toml: model.heads = 0 is out of range: it wants a whole number from 1 to 1024"},
		{"[objective]\nadversarial_mode = \"codes\"", `f.toml: objective.adversarial_mode = "codes" is out of range: it wants one of code, paper, full`},
		{"[objective]\nbias = 1", "f.toml: objective.bias wants true or false, not the whole number 1"},
		{"[data]\ntest = \"a\"", `f.toml: data.test wants a list of texts such as ["a", "b"], not the text "a"`},
		{"[data]\ntest = [1]", `f.toml: data.test wants a list of texts such as ["a", "b"], not a list`},
		{"[data]\ndir = true", "f.toml: data.dir wants a text in quotes, not true"},
		{"[data]\ndir = \n", "f.toml: line 2: expected value but found '\\n' instead"},
		{"[train]\nsteps = 1\nsteps = 2", "f.toml: line 3: Key 'train.steps' has already been defined."},
	} {
		err := newLayers().text(test.toml, "f.toml", true)
		var usage *command.UsageError
		if !errors.As(err, &usage) {
			t.Errorf("%q gave %v, want a usage error", test.toml, err)
			continue
		}
		if diff := cmp.Diff(test.want, err.Error()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.toml, diff)
		}
	}
}

func TestAssign(t *testing.T) {
	l := newLayers()
	for _, assignment := range []string{
		"train.learning_rate=3e-4", "train.max_tokens=2_000", "train.clip_norm=1", "data.lowercase=true", "data.test=a, b,c",
		`data.name="with \"quotes\""`, "objective.method=spectrum+adversarial", "objective.prior = none",
	} {
		if err := l.assign(assignment, "-set"); err != nil {
			t.Errorf("%s: %v", assignment, err)
		}
	}
	c := l.config
	if c.Train.LearningRate != 3e-4 || c.Train.MaxTokens != 2000 || c.Train.ClipNorm != 1 || !c.Data.Lowercase || c.Data.Name != `with "quotes"` ||
		c.Objective.Method != "spectrum+adversarial" || c.Objective.Prior != "none" {
		t.Errorf("assignments gave %+v", c)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, c.Data.Test); diff != "" {
		t.Error(diff)
	}
	if err := l.assign(`data.test=["x, y"]`, "-set"); err != nil || !cmp.Equal(l.config.Data.Test, []string{"x, y"}) {
		t.Errorf("a TOML list gave %q, %v", l.config.Data.Test, err)
	}
	for assignment, want := range map[string]string{
		"train.steps":          "-set train.steps: write -set section.key=value",
		"train.step=3":         "-set: unknown key train.step: did you mean train.steps?",
		"train.steps=ten":      `-set: train.steps wants a whole number of at least 0, not the text "ten"`,
		"train.steps=":         `-set: train.steps wants a whole number of at least 0, not the text ""`,
		"data.lowercase=maybe": `-set: data.lowercase wants true or false, not the text "maybe"`,
		"train.ema_decay=2":    "-set: train.ema_decay = 2.0 is out of range: it wants a number of at least 0 and below 1",
	} {
		err := l.assign(assignment, "-set")
		if err == nil || err.Error() != want || command.ExitCode(err) != 2 {
			t.Errorf("%s gave %v, want %s", assignment, err, want)
		}
	}
}

// What WriteTOML writes is read back as the same configuration, whatever the texts hold, and is a complete preset.
func TestWriteTOMLRoundTrip(t *testing.T) {
	c := Default()
	c.Data.Name = "a \"b\" \\ \t\x01 ä"
	c.Data.Test = []string{"one", "two, \"three\""}
	c.Train.Epsilon, c.Train.LearningRate, c.Schedule.Minimum = 1e-9, 30, 1.0/3
	var text bytes.Buffer
	if err := c.WriteTOML(&text); err != nil {
		t.Fatal(err)
	}
	l := newLayers()
	if err := l.text(text.String(), "written", false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, l.config); diff != "" {
		t.Errorf("read back otherwise (-want +got):\n%s", diff)
	}
	if err := CheckComplete(fstest.MapFS{"p.toml": {Data: text.Bytes()}}, "p.toml"); err != nil {
		t.Error(err)
	}
	if !strings.Contains(text.String(), "# Dropout on attention weights (a number of at least 0 and below 1; default 0.0).\nattention_dropout = 0.0\n") {
		t.Errorf("keys are not explained:\n%s", text.String())
	}
}

func TestCheckComplete(t *testing.T) {
	var whole bytes.Buffer
	if err := Default().WriteTOML(&whole); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ from, to, want string }{
		{"dropout = 0.1\n", "", "p.toml: missing keys: model.dropout"},
		{"dropout = 0.1\n", "\n\ndropout = 0.1\n", "no comment says why dropout = 0.1"},
		{"dropout = 0.1\n", "\n\ndropout = 0.1  # as published\n", ""},
		{"dropout = 0.1\n", "dropuot = 0.1\n", "unknown key model.dropuot"},
		{"heads = 8\n", "heads = 7\n", "p.toml: model.heads = 7 does not divide model.width = 512"},
	} {
		text := strings.Replace(whole.String(), "\n"+test.from, "\n"+test.to, 1)
		err := CheckComplete(fstest.MapFS{"p.toml": {Data: []byte(text)}}, "p.toml")
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("with %q: %v, want %q", test.to, err, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	for assignment, want := range map[string]string{
		"train.device=gpu":         "train.device",
		"data.target=en":           "must differ",
		"data.max_ratio=0.5":       "data.max_ratio",
		"data.target_units=word":   "data.joint",
		"data.joint=false":         "model.tying",
		"data.joint_codes=false":   "data.joint",
		"data.source_vocabulary=x": "data.target_vocabulary",
		"model.heads=7":            "does not divide",
		"train.steps=0":            "no end",
		"schedule.warmup_init=1":   "train.learning_rate",
		"schedule.minimum=1":       "train.learning_rate",
		"schedule.kind=step":       "schedule.period",
		"train.steps=0,train.patience=1,schedule.kind=cosine": "train.epochs",
		"train.steps=0,train.epochs=1,schedule.kind=cosine":   "",
		"decode.max_length_b=0":                               "decode.max_length_a",
		"data.source=":                                        "data.source",
		"data.valid=":                                         "data.valid",
		"data.target=d/e":                                     "slash",
		"model.width=31":                                      "model.heads",
		"model.width=8,model.heads=8":                         "",
		"model.kind=transformer-xl,model.last_hidden=9":       "model.last_hidden",
	} {
		l := newLayers()
		for one := range strings.SplitSeq(assignment, ",") {
			if err := l.assign(one, "-set"); err != nil {
				t.Fatal(err)
			}
		}
		err := l.config.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", assignment, err, want)
		}
	}
	c := Default()
	c.Model.Dropout = math.NaN()
	if err := c.Validate(); err == nil {
		t.Error("NaN passes")
	}
}

func TestDifferences(t *testing.T) {
	old := Default()
	old.Data.Dir = "/a"
	next := old
	if d := Differences(old, next); len(d) != 0 {
		t.Errorf("a configuration differs from itself: %v", d)
	}
	next.Data.Dir, next.Data.Codes = "/b", "/codes"
	next.Train.Steps, next.Train.Threads, next.Train.Seed = 5, 3, 9
	next.Decode.Beam, next.Checkpoint.Keep, next.Report.Samples = 1, 1, 1
	allowed := map[string]bool{}
	for _, d := range Differences(old, next) {
		allowed[d.Key] = d.Allowed
		if d.ByName != (d.Key == "train.threads") {
			t.Errorf("%s: by name is %v", d.Key, d.ByName)
		}
	}
	want := map[string]bool{"data.dir": true, "data.codes": false, "train.steps": true, "train.threads": true, "train.seed": false,
		"decode.beam": true, "checkpoint.keep": true, "report.samples": true}
	if diff := cmp.Diff(want, allowed); diff != "" {
		t.Error(diff)
	}
	if old.Hash() == next.Hash() {
		t.Error("another seed has the same hash")
	}
	next.Train.Seed = old.Train.Seed
	if old.Hash() != next.Hash() {
		t.Error("the hash depends on keys that may change")
	}
	next.Model.Width = 64
	if old.Hash() == next.Hash() {
		t.Error("another width has the same hash")
	}
}

func TestFileErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.toml")
	if err := newLayers().file(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a missing file gave %v", err)
	}
	if err := os.WriteFile(path, []byte("[train]\nsteps = 7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := newLayers()
	if err := l.file(path); err != nil || l.config.Train.Steps != 7 || l.origin["train.steps"] != path {
		t.Errorf("reading gave %v, %d, %q", err, l.config.Train.Steps, l.origin["train.steps"])
	}
}
