package experiment

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// runFolder is a folder with the configuration that a command line makes.
func runFolder(t *testing.T, s *Spec, args ...string) string {
	t.Helper()
	settings, err := Parse(s, args)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, ConfigFile), []byte(settings.Config.TOML()), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// A run that starts from another one has its network, text path, output layer and search, and the preset's training;
// what the user gives replaces what no weight depends on.
func TestInitKeeps(t *testing.T) {
	first := runFolder(t, testSpec(t), "-method=spectrum", "-set=model.width=96", "-set=model.heads=4",
		"-set=model.dropout=0.4", "-set=model.activation=gelu", "-set=data.merges=77", "-set=data.lowercase=true",
		"-set=data.train_pairs=50", "-set=objective.bias=true", "-set=objective.label_smoothing=0.2",
		"-set=decode.beam=7", "-set=train.learning_rate=0.01", "-set=train.epochs=99", "-src=fr")
	s, err := Parse(testSpec(t), []string{"-init", first, "-data", t.TempDir(), "-set=model.attention_dropout=0.3",
		"-set=objective.lambda_u=2", "-epochs=3"})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Config
	kept := []any{c.Model.Width, c.Model.Heads, c.Model.Dropout, c.Model.Activation, c.Data.Merges, c.Data.Lowercase,
		c.Data.Source, c.Decode.Beam, c.Objective.Method, schema.Value(&c, lookup(t, "objective.bias")),
		schema.Value(&c, lookup(t, "objective.label_smoothing"))}
	if want := []any{96, 4, 0.4, "gelu", 77, true, "fr", 7, "spectrum", "true", "0.2"}; !slices.Equal(kept, want) {
		t.Errorf("kept are %v, want %v", kept, want)
	}
	own := []any{c.Data.TrainPairs, c.Model.AttentionDropout, schema.Value(&c, lookup(t, "objective.lambda_u")),
		c.Train.Epochs, c.Train.Patience, c.Train.LearningRate, c.Schedule.Kind, c.Preset, c.Data.Name}
	if want := []any{0, 0.3, "2.0", 3, 2, 0.002, "linear", finetunePreset, "big"}; !slices.Equal(own, want) {
		t.Errorf("the run's own are %v, want %v", own, want)
	}
	if want := filepath.Join("experiments", "toy", "spectrum-finetune-seed1"); s.Out != want {
		t.Errorf("its folder is %s, want %s", s.Out, want)
	}
	if !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, "keeping the network") }) {
		t.Errorf("the notes are %q", s.Notes)
	}

	// What was fine-tuned goes on at its rate, and what was trained by SGD says nothing of Adam's.
	for args, want := range map[string]float64{"-init=" + first: 0.002,
		"-set=train.optimizer=sgd -set=train.learning_rate=20": 0.0001} {
		s, err := Parse(testSpec(t), []string{"-init", runFolder(t, testSpec(t), strings.Fields(args)...)})
		if err != nil || s.Config.Train.LearningRate != want {
			t.Errorf("%s: rate %v, %v, want %v", args, s.Config.Train.LearningRate, err, want)
		}
	}

	// A preset by name sets the training, and dropout, which belongs to it; the network and the method stay.
	s, err = Parse(testSpec(t), []string{"-init", first, "-preset=big"})
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Config; c.Model.Width != 96 || c.Model.Dropout != 0.1 || c.Objective.Method != "spectrum" || c.Train.Steps != 900 ||
		schema.Value(&c, lookup(t, "objective.bias")) != "true" ||
		schema.Value(&c, lookup(t, "objective.label_smoothing")) != "0.2" || c.Decode.Beam == 7 {
		t.Errorf("with -preset: %+v", c)
	}

	// A preset that has a method keeps it; one without has that of the weights.
	stage := runFolder(t, SpecOf("ptb"), "-preset=small", "-method=spectrum")
	s, err = Parse(SpecOf("ptb"), []string{"-preset=awd-lstm-finetune", "-init", stage})
	if err != nil || s.Config.Objective.Method != "spectrum" {
		t.Errorf("finetuning a run of spectrum: %+v, %v", s, err)
	}
	_, err = Parse(SpecOf("ptb"), []string{"-preset=mos-finetune", "-init", stage})
	wantError(t, err, `"mos" cannot start from weights of "spectrum"`)

	// What -print-config prints repeats it.
	printing := testSpec(t)
	if _, err := Parse(printing, []string{"-init", first, "-print-config"}); !errors.Is(err, command.ErrHelp) {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "again.toml")
	if err := os.WriteFile(file, printing.Stdout.(*bytes.Buffer).Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := Parse(testSpec(t), []string{"-config", file})
	if err != nil {
		t.Fatal(err)
	}
	if c := again.Config; c.Preset != finetunePreset || c.Train.Init != first || c.Model.Width != 96 {
		t.Errorf("the printed configuration gives %+v", c)
	}
}

func lookup(t *testing.T, name string) keys.Key {
	t.Helper()
	k, err := schema.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// -h names the preset that the runs of translators share, and no other run does.
func TestHelpOfFinetuning(t *testing.T) {
	for s, want := range map[*Spec]bool{testSpec(t): true, languageSpec(t): false} {
		if _, err := Parse(s, []string{"-h"}); !errors.Is(err, command.ErrHelp) {
			t.Fatal(err)
		}
		help := s.Stdout.(*bytes.Buffer).String()
		if strings.Contains(help, "  "+finetunePreset+" ") != want || strings.Contains(help, "(default with -init)") != want {
			t.Errorf("the help of a %s is\n%s", s.Task.network(), help)
		}
	}
}

// A headless run has no bias, whatever its preset says: what starts from it has none, and it starts from none.
func TestInitFromHeadless(t *testing.T) {
	bias := "-set=objective.bias=true"
	for _, spec := range []func(*testing.T) *Spec{testSpec, languageSpec} {
		mle := runFolder(t, spec(t), bias)
		headless := runFolder(t, spec(t), "-method=headless", bias) // as earlier versions wrote a preset's bias too
		for _, args := range []string{"-method=mle", "-method=mle -set=objective.bias=false", "-method=headless",
			"-method=headless " + bias, "-method=spectrum"} {
			s, err := Parse(spec(t), append(strings.Fields(args), "-init", headless))
			if err != nil {
				t.Errorf("%s: %v", args, err)
				continue
			}
			if got := schema.Value(&s.Config, lookup(t, "objective.bias")); got != "false" && !strings.Contains(args, bias) {
				t.Errorf("%s: objective.bias = %s", args, got)
			}
		}
		if _, err := Parse(spec(t), []string{"-method=headless", bias, "-out", headless, "-resume"}); err != nil {
			t.Errorf("it does not go on as it began: %v", err)
		}
		_, err := Parse(spec(t), []string{"-method=mle", bias, "-init", headless})
		wantError(t, err, "objective.bias = true", "has false", "leave the key out")
		_, err = Parse(spec(t), []string{"-method=headless", "-init", mle})
		wantError(t, err, "start from a run with objective.bias = false")
	}
	for method, want := range map[string]string{"headless": "false", "headless+spectrum": "false", "mle": "true",
		"spectrum": "true"} {
		s, err := Parse(SpecOf("ptb"), []string{"-preset=small", "-method=" + method})
		if err != nil {
			t.Fatal(err)
		}
		if got := schema.Value(&s.Config, lookup(t, "objective.bias")); got != want {
			t.Errorf("a preset's bias is %s with %s", got, method)
		}
	}
}

// What contradicts the run that another one starts from is refused in one sentence, with what gave it.
func TestInitRefuses(t *testing.T) {
	first := runFolder(t, testSpec(t), "-set=model.width=96", "-set=model.heads=4", "-set=data.merges=77")
	learned := runFolder(t, testSpec(t), "-set=model.positions=learned")
	words := runFolder(t, testSpec(t), "-method=vmf")
	language := runFolder(t, languageSpec(t))
	codes := filepath.Join(first, "codes")
	if err := os.WriteFile(codes, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	contradictions := []struct {
		args  string
		parts []string
	}{
		{"-init=FIRST -set=model.width=128", []string{"-set: model.width = 128", "has 96", "leave the key out"}},
		{"-init=FIRST -set=data.merges=10", []string{"data.merges = 10", "has 77"}},
		{"-init=FIRST -set=data.codes=" + codes, []string{"data.codes = ", `has ""`}},
		{"-init=FIRST -tgt=fr", []string{`-tgt: data.target = "fr"`, `has "de"`}},
		{"-init=FIRST -set=objective.bias=true", []string{"objective.bias = true", "has false"}},
		{"-init=FIRST -method=mos", []string{`"mos" cannot start from weights of "mle"`}},
		{"-init=FIRST -method=vmf", []string{`"vmf" cannot start from weights of "mle"`}},
		{"-init=WORDS -method=mle", []string{`"mle" cannot start from weights of "vmf"`}},
		{"-init=LEARNED -set=model.max_positions=2000", []string{"model.max_positions = 2000", "has 1024"}},
		{"-init=LANGUAGE", []string{"holds a language model, and runs/toy trains a translator"}},
		{"-preset=finetune", []string{"name that run with -init"}},
		{"-init=nowhere", []string{"-init: there is no folder nowhere"}},
	}
	place := strings.NewReplacer("FIRST", first, "LEARNED", learned, "WORDS", words, "LANGUAGE", language)
	for _, c := range contradictions {
		_, err := Parse(testSpec(t), strings.Fields(place.Replace(c.args)))
		if err == nil {
			t.Errorf("%s is taken", c.args)
			continue
		}
		wantError(t, err, c.parts...)
	}
	for _, args := range []string{"-init=FIRST -set=model.max_positions=2000", "-init=FIRST -set=model.width=96",
		"-init=WORDS", "-init=FIRST -method=spectrum+adversarial", "-init=FIRST -set=data.pieces=300"} {
		s, err := Parse(testSpec(t), strings.Fields(place.Replace(args)))
		if err != nil {
			t.Errorf("%s: %v", args, err)
		} else if byWords := args == "-init=WORDS"; byWords != (s.Config.Train.PatienceOn == "bleu") {
			t.Errorf("%s: %s chooses the best checkpoint", args, s.Config.Train.PatienceOn)
		}
	}
}
