package experiment

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// The keys' tags are malformed nowhere (package keys panics), and say of a resumed run and of a task what is
// understood.
func TestKeysAreSound(t *testing.T) {
	for _, k := range schema.Keys() {
		if !slices.Contains([]string{"", "free", "named", "location"}, k.Resume) {
			t.Errorf("%s: resume is %q", k.Name, k.Resume)
		}
		if !slices.Contains([]string{"", string(Translation), string(LanguageModel)}, k.Task) {
			t.Errorf("%s: task is %q", k.Name, k.Task)
		}
		if k.Section() == "" && k.Name != "run" && k.Name != "preset" {
			t.Errorf("%s stands in no section", k.Name)
		}
		if strings.HasSuffix(k.Help, ".") {
			t.Errorf("%s: its help ends in a full stop", k.Name)
		}
	}
	c := Default()
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults are no experiment: %v", err)
	}
	if c.Train.LearningRate != 5e-4 || c.Train.Epsilon != 1e-8 || c.Data.MaxRatio != 0 || !c.Data.Escape ||
		c.Model.Kind != "transformer" {
		t.Errorf("defaults were not read from their tags: %+v", c)
	}
	if diff := cmp.Diff([]string{"test"}, c.Data.Test); diff != "" {
		t.Error(diff)
	}
}

// inner compares the settings of methods, which are no fields of their own.
var inner = cmp.Exporter(func(reflect.Type) bool { return true })

// Each part of the configuration is what its package takes for its defaults.
func TestDefaultsOfThePackages(t *testing.T) {
	c := Default()
	wantTranslation := translation.Defaults()
	wantTranslation.Seed = 1
	if diff := cmp.Diff(wantTranslation, c.Translation(), inner); diff != "" {
		t.Errorf("a translator (-its package +experiment):\n%s", diff)
	}
	wantLanguage := language.Defaults()
	wantLanguage.Seed = 1
	if diff := cmp.Diff(wantLanguage, c.Language(), inner); diff != "" {
		t.Errorf("a language model (-its package +experiment):\n%s", diff)
	}
	c.Train.Optimizer, c.Train.Seed = "sgd", 3
	if !c.Translation().SGD || !c.Language().SGD || c.Translation().Seed != 3 || c.Language().Seed != 3 {
		t.Error("optimizer and seed do not reach the task")
	}
}

func TestTask(t *testing.T) {
	for _, of := range []struct {
		task  Task
		kinds []string
	}{{Translation, translation.Kinds()}, {LanguageModel, language.Kinds()}, {"", []string{"", "lstm"}}} {
		for _, kind := range of.kinds {
			c := Default()
			c.Model.Kind = kind
			if c.Task() != of.task {
				t.Errorf("%s is a network of task %q", kind, c.Task())
			}
			if k, err := schema.Lookup("model.kind"); err != nil || of.task != "" && !strings.Contains(k.Help, kind) {
				t.Errorf("the help of model.kind does not name %s: %s (%v)", kind, k.Help, err)
			}
		}
	}
}

// Usage errors name the file, the key and what it wants; package keys has the tests of all that can be wrong.
func TestTextErrors(t *testing.T) {
	for _, test := range []struct{ toml, want string }{
		{"[train]\nlearning_rat = 1.0", "f.toml: unknown key train.learning_rat: did you mean train.learning_rate?"},
		{"[model]\nsteps = 3", "f.toml: unknown key model.steps: did you mean train.steps?"},
		{"[trian]\nsteps = 3", "f.toml: unknown section [trian]: did you mean [train]?"},
		{"[train]\nsteps = \"many\"", `f.toml: train.steps wants a whole number of at least 0, not the text "many"`},
		{"[train]\nsteps = -1", "f.toml: train.steps = -1 is out of range: it wants a whole number of at least 0"},
		{"[model]\nheads = 0", "f.toml: model.heads = 0 is out of range: it wants a whole number from 1 to 1024"},
		{"[objective]\nadversarial_mode = \"codes\"", `f.toml: objective.adversarial_mode = "codes" is out of range: it wants one of code, paper, full`},
		{"[data]\ntest = [1]", `f.toml: data.test wants a list of texts such as ["a", "b"], not a list`},
		{"[data]\ndir = \n", "f.toml: line 2: expected value but found '\\n' instead"},
	} {
		err := layText(newLayers(), test.toml, "f.toml", true)
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
		"train.learning_rate=3e-4", "train.max_tokens=2_000", "data.test=a, b,c", `data.name="with \"quotes\""`,
		"objective.method=spectrum+adversarial", "objective.prior = none",
	} {
		if err := l.assign(assignment, "-set"); err != nil {
			t.Errorf("%s: %v", assignment, err)
		}
	}
	c := l.config
	if c.Train.LearningRate != 3e-4 || c.Train.MaxTokens != 2000 || c.Data.Name != `with "quotes"` ||
		c.Objective.Method != "spectrum+adversarial" ||
		objectives.Of[objectives.SpectrumSettings](c.Objective).Prior != "none" {
		t.Errorf("assignments gave %+v", c)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, c.Data.Test); diff != "" {
		t.Error(diff)
	}
	if l.origin["train.max_tokens"] != "-set" || !l.byHand["train.max_tokens"] || l.byHand["train.seed"] {
		t.Errorf("what came by hand is %v", l.byHand)
	}
	for assignment, want := range map[string]string{
		"train.steps":       "-set train.steps: write -set section.key=value",
		"train.step=3":      "-set: unknown key train.step: did you mean train.steps?",
		"train.steps=ten":   `-set: train.steps wants a whole number of at least 0, not the text "ten"`,
		"train.ema_decay=2": "-set: train.ema_decay = 2.0 is out of range: it wants a number of at least 0 and below 1",
	} {
		err := l.assign(assignment, "-set")
		if err == nil || err.Error() != want || command.ExitCode(err) != 2 {
			t.Errorf("%s gave %v, want %s", assignment, err, want)
		}
	}
}

// What TOML writes is read back as the same configuration, with every key of its task explained.
func TestTOMLRoundTrip(t *testing.T) {
	for _, kind := range []string{"transformer", "awd-lstm"} {
		c := Default()
		c.Model.Kind = kind
		c.Data.Name = "a \"b\" \\ \t\x01 ä"
		c.Data.Test = []string{"one", "two, \"three\""}
		c.Train.Epsilon, c.Train.LearningRate, c.Schedule.Minimum = 1e-9, 30, 1.0/3
		text := c.TOML()
		l := newLayers()
		if err := layText(l, text, "written", false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, l.config, inner); diff != "" {
			t.Errorf("read back otherwise (-want +got):\n%s", diff)
		}
		if !strings.Contains(text, "# Dropout on attention weights (a number of at least 0 and below 1; default "+
			"0.0).\nattention_dropout = 0.0\n") {
			t.Errorf("keys are not explained:\n%s", text)
		}
		for _, k := range schema.Keys() {
			if _, given := l.origin[k.Name]; given != k.Of(string(c.Task())) {
				t.Errorf("%s: written for a %s: %v", k.Name, kind, given)
			}
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
		"train.steps=0,train.patience=1,schedule.kind=cosine":        "train.epochs",
		"train.steps=0,train.patience=1,schedule.kind=linear":        "train.epochs",
		"train.steps=0,train.epochs=1,schedule.kind=cosine":          "",
		"decode.max_length_b=0":                                      "decode.max_length_a",
		"data.source=":                                               "data.source",
		"data.valid=":                                                "data.valid",
		"data.target=d/e":                                            "letters, digits and",
		"model.width=31":                                             "model.width",
		"model.width=30":                                             "model.heads",
		"model.width=8,model.heads=8":                                "",
		"model.kind=transformer-xl,model.last_hidden=9":              "model.last_hidden",
		"model.kind=lstm":                                            "model.kind",
		"model.kind=awd-lstm":                                        "",
		"model.kind=awd-lstm,model.tying=decoder":                    "model.tying",
		"model.kind=awd-lstm,train.accumulate=21":                    "train.columns",
		"model.kind=awd-lstm,train.bptt_longest=4":                   "train.bptt_longest",
		"model.kind=awd-lstm,train.asgd=trigger":                     "train.optimizer",
		"model.kind=awd-lstm,train.asgd=trigger,train.optimizer=sgd": "",
		"model.kind=awd-lstm,train.asgd=trigger,train.optimizer=sgd,train.ema_decay=0.5":    "train.ema_decay",
		"model.kind=awd-lstm,train.asgd=trigger,train.optimizer=sgd,train.validate_every=9": "train.validate_every",
		"model.kind=awd-lstm,train.asgd=epoch,train.optimizer=sgd":                          "train.asgd_epoch",
		"model.kind=awd-lstm,train.asgd=finetune,train.optimizer=sgd,train.patience=2":      "train.patience = 0",
		"train.optimizer=coupled-adam,objective.method=vmf,data.target_units=word,data.joint=false," +
			"data.joint_codes=false,model.tying=decoder": "train.optimizer",
		"train.patience_on=bleu,decode.validation_beam=0": "decode.validation_beam",
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
	c.Data.Test = []string{"x/t", "y/t"}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "data.test names x/t and y/t") {
		t.Errorf("two texts of one name: %v", err)
	}
	c = Default()
	c.Model.Dropout = math.NaN()
	if err := c.Validate(); err == nil {
		t.Error("NaN passes")
	}
}

func TestDifferences(t *testing.T) {
	old := Default()
	old.Data.Dir = "/a"
	next := old
	if d := schema.Differences(&old, &next); len(d) != 0 {
		t.Errorf("a configuration differs from itself: %v", d)
	}
	next.Data.Dir, next.Data.Codes = "/b", "/codes"
	next.Train.Steps, next.Train.Threads, next.Train.Seed = 5, 3, 9
	next.Decode.Beam, next.Checkpoint.Keep, next.Report.Samples = 1, 1, 1
	allowed := map[string]bool{}
	for _, d := range schema.Differences(&old, &next) {
		allowed[d.Key] = d.Allowed
		if d.ByName != (d.Key == "train.threads") {
			t.Errorf("%s: by name is %v", d.Key, d.ByName)
		}
	}
	want := map[string]bool{"data.dir": true, "data.codes": false, "train.steps": true, "train.threads": true,
		"train.seed":  false,
		"decode.beam": true, "checkpoint.keep": true, "report.samples": true}
	if diff := cmp.Diff(want, allowed); diff != "" {
		t.Error(diff)
	}
	old.Model.Kind = "transformer"
	for _, test := range []struct {
		change func(c *Config)
		key    string // the one that is refused
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.Train.Seed++ }, "train.seed"},
		{func(c *Config) { c.Model.Heads = 1 }, "model.heads"},
		{func(c *Config) { c.Data.Merges, c.Model.Heads = 0, 1 }, "data.merges"},
		{func(c *Config) { c.Data.Codes = "/codes" }, "data.codes"},
		{func(c *Config) { c.Data.Dir = "/b" }, ""},
		{func(c *Config) { c.Train.Columns++ }, ""}, // a language model's
		{func(c *Config) { c.Train.Device, c.Train.Threads, c.Data.Store, c.Decode.Beam = "cuda", 3, "none", 1 }, ""},
	} {
		next := old
		test.change(&next)
		d, changed := schema.Changed(&next, string(Translation), old.Kept())
		if d.Key != test.key || changed != (test.key != "") {
			t.Errorf("%q was refused, want %q", d.Key, test.key)
		}
		if d, changed := schema.Changed(&next, string(Translation), nil); changed {
			t.Errorf("an earlier version's checkpoint refused %s", d)
		}
	}
	// A key that is newer than the checkpoint had its default.
	kept := old.Kept()
	delete(kept, "model.heads")
	if d, changed := schema.Changed(&old, string(Translation), kept); changed {
		t.Errorf("a key's default was refused: %s", d)
	}
	next.Model.Heads, next.Train.Seed, next.Data.Codes = 1, old.Train.Seed, ""
	if d, _ := schema.Changed(&next, string(Translation), kept); d.String() != "model.heads from 8 to 1" {
		t.Errorf("a key that the checkpoint lacks: %s", d)
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
	// A preset's file that was copied and changed: its header says nothing about the run, and its base is chosen by name.
	for text, want := range map[string]string{"title = \"mine\"\n[train]\nsteps = 9\n": "",
		"base = \"small\"\n[train]\nsteps = 9\n": "choose it with -preset small"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		l := newLayers()
		err := l.file(path)
		if want == "" && (err != nil || l.config.Train.Steps != 9) || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %d", text, err, l.config.Train.Steps)
		}
	}
}

// TestStatedDefaults: what programs without libtorch read of the defaults in a config.toml is what they are, whatever
// its values.
func TestStatedDefaults(t *testing.T) {
	c := Default()
	c.Data.Name, c.Data.Test, c.Train.Steps, c.Train.LearningRate, c.Data.Lowercase = "a", []string{"b", "c"}, 7, 0.5,
		true
	for _, task := range []Task{Translation, LanguageModel} {
		defaults := Default()
		want, err := keys.Parse(schema.Print(&defaults, string(task)), "defaults")
		if err != nil {
			t.Fatal(err)
		}
		got := keys.Stated(schema.Print(&c, string(task)))
		for section, values := range want {
			table, ok := values.(map[string]any)
			if !ok {
				table, section = map[string]any{section: values}, ""
			} else {
				section += "."
			}
			for name, value := range table {
				if diff := cmp.Diff(value, got[section+name]); diff != "" {
					t.Errorf("%s%s: %s", section, name, diff)
				}
			}
		}
	}
}

// layText lays a TOML text over the configuration.
func layText(l *layers, text, from string, byHand bool) error {
	tree, err := keys.Parse(text, from)
	if err != nil {
		return &command.UsageError{Err: err}
	}
	return l.tree(tree, from, byHand)
}
