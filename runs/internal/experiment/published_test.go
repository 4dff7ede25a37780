package experiment

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// published are the rows of the papers' tables of perplexity that a preset is for: what was published ("" where a paper
// has the method on another text or network), and the preset that differs in the method alone.
var published = []struct{ run, preset, method, figures, control string }{
	{"ptb", "awd-lstm", "mle", "61.2 / 58.8", ""},
	{"ptb", "awd-lstm-finetune", "mle", "58.8 / 56.5", ""},
	{"ptb", "awd-cosreg", "cosreg", "", "awd-lstm"},
	{"ptb", "awd-spectrum", "spectrum", "", "awd-lstm"},
	{"ptb", "awd-adversarial", "adversarial", "57.15 / 55.01", "awd-adversarial-control"},
	{"ptb", "qrnn", "mle", "60.6 / 58.3", ""},
	{"ptb", "qrnn-adversarial", "adversarial", "", "qrnn"},
	{"ptb", "qrnn-spectrum", "spectrum", "", "qrnn"},
	{"ptb", "mos", "mos", "56.54 / 54.44", ""},
	{"ptb", "mos-spectrum", "mos+spectrum", "", "mos"},
	{"ptb", "mos-adversarial", "mos+adversarial", "54.98 / 52.87", "mos-adversarial-control"},
	{"ptb", "mos-shuffle", "mos", "55.89 / 53.92", ""},
	{"ptb", "mos-shuffle-adversarial", "mos+adversarial", "54.10 / 52.20", "mos-shuffle-adversarial-control"},

	{"wikitext2", "awd-lstm", "mle", "68.7 / 65.6", ""},
	{"wikitext2", "awd-lstm-finetune", "mle", "67.4 / 64.7", ""},
	{"wikitext2", "awd-cosreg", "cosreg", "68.2 / 65.2", "awd-lstm"},
	{"wikitext2", "awd-cosreg-finetune", "cosreg", "67.1 / 64.1", "awd-lstm-finetune"},
	{"wikitext2", "awd-spectrum", "spectrum", "66.3 / 63.7", "awd-lstm"},
	{"wikitext2", "awd-spectrum-finetune", "spectrum", "65.3 / 62.9", "awd-lstm-finetune"},
	{"wikitext2", "awd-spectrum-poly", "spectrum-poly", "test 64.2", "awd-lstm"},
	{"wikitext2", "awd-sn", "sn", "76.3 / 72.5", "awd-lstm"},
	{"wikitext2", "awd-sn-doptimal", "sn-doptimal", "98.3 / 94.8", "awd-lstm"},
	{"wikitext2", "awd-adversarial", "adversarial", "64.01 / 61.56", "awd-adversarial-control"},
	{"wikitext2", "qrnn", "mle", "69.3 / 66.8", ""},
	{"wikitext2", "qrnn-adversarial", "adversarial", "", "qrnn"},
	{"wikitext2", "qrnn-spectrum", "spectrum", "", "qrnn"},
	{"wikitext2", "mos", "mos", "63.88 / 61.45", ""},
	{"wikitext2", "mos-spectrum", "mos+spectrum", "", "mos"},
	{"wikitext2", "mos-adversarial", "mos+adversarial", "61.93 / 59.62", "mos-adversarial-control"},
	{"wikitext2", "mos-shuffle", "mos", "62.38 / 59.98", ""},
	{"wikitext2", "mos-shuffle-adversarial", "mos+adversarial", "61.10 / 58.95", "mos-shuffle-adversarial-control"},

	{"wikitext103", "qrnn", "adaptive", "32.0 / 33.0", ""},
	{"wikitext103", "qrnn-adversarial", "adaptive+adversarial", "30.6 / 31.6", "qrnn"},
	{"wikitext103", "qrnn-spectrum", "adaptive+spectrum", "", "qrnn"},
	{"wikitext103", "xl-4", "adaptive", "29.6 / 30.4", ""},
	{"wikitext103", "xl-4-spectrum", "adaptive+spectrum", "29.0 / 29.5", "xl-4"},
	{"wikitext103", "xl-16", "adaptive", "23.1 / 24.0", ""},
	{"wikitext103", "xl-16-spectrum", "adaptive+spectrum", "22.9 / 23.2", "xl-16"},
	{"wikitext103", "xl-16-spectrum-exponential", "adaptive+spectrum", "test 23.4", "xl-16"},
}

// readPreset reads a run's preset, and the words of the comment that opens it.
func readPreset(t *testing.T, run, name string) (c Config, header string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", run, name+".toml"))
	if err != nil {
		t.Fatal(err)
	}
	l := newLayers()
	if err := l.text(string(text), name, false); err != nil {
		t.Fatal(err)
	}
	header, _, _ = strings.Cut(string(text), "\n\n")
	return l.config, strings.Join(strings.Fields(strings.ReplaceAll(header, "#", " ")), " ")
}

// Each published row has its preset, which tells the row's figures and its control and differs from that in the objective
// alone.
func TestPublishedRows(t *testing.T) {
	for _, row := range published {
		t.Run(row.run+"/"+row.preset, func(t *testing.T) {
			c, header := readPreset(t, row.run, row.preset)
			if c.Objective.Method != row.method {
				t.Errorf("its method is %s, want %s", c.Objective.Method, row.method)
			}
			if !strings.Contains(header, row.figures) {
				t.Errorf("it does not tell the published %s: %s", row.figures, header)
			}
			if row.control == "" {
				return
			}
			if says := regexp.MustCompile(`[Ii]ts control is (\S+[^.,])[.,]`).FindStringSubmatch(header); says == nil || says[1] != row.control {
				t.Errorf("it does not name its control, %s: %s", row.control, header)
			}
			control, _ := readPreset(t, row.run, row.control)
			control.Preset, control.Objective = c.Preset, c.Objective
			if a, b := written(t, c), written(t, control); a != b {
				t.Errorf("beyond its objective it differs from its control:\n%s", firstDifference(a, b))
			}
		})
	}
}

func written(t *testing.T, c Config) string {
	t.Helper()
	var text strings.Builder
	if err := c.WriteTOML(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func firstDifference(a, b string) string {
	other := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if line != other[i] {
			return line + " here, " + other[i] + " there"
		}
	}
	return ""
}

// Every preset file is one that its run offers.
func TestPresetsAreOffered(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "*", "*.toml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d presets, %v", len(files), err)
	}
	for _, file := range files {
		program, err := os.ReadFile(filepath.Join(filepath.Dir(file), "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(file)
		if want := `{Name: "` + strings.TrimSuffix(base, ".toml") + `"`; !strings.Contains(string(program), want) {
			t.Errorf("%s is in no list of presets: %s wants %s", file, filepath.Join(filepath.Dir(file), "main.go"), want)
		}
	}
}

// A preset that descends plainly holds the spectrum by proximal steps, or by penalties that its rate allows, whatever its method:
// others diverge, and -method=spectrum must train from every preset.
func TestPlainDescentHolds(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "*", "*.toml"))
	if err != nil {
		t.Fatal(err)
	}
	plain := 0
	for _, file := range files {
		c, _ := readPreset(t, filepath.Base(filepath.Dir(file)), strings.TrimSuffix(filepath.Base(file), ".toml"))
		if c.Train.Optimizer != "sgd" {
			continue
		}
		plain++
		o := c.Objective
		allowed := max(o.LambdaU, o.LambdaV, o.LambdaPrior) <= 0.01 && o.LambdaUSpectral == 0 && o.LambdaVSpectral == 0 && c.Train.LearningRate <= 30
		if !(o.SpectrumHold == "proximal" && o.RetractEvery == 10) && !(o.SpectrumHold == "penalty" && allowed) {
			t.Errorf("%s: objective.spectrum_hold is %s, retract_every %d, lambda_u %g, lambda_v %g, lambda_prior %g", file, o.SpectrumHold, o.RetractEvery, o.LambdaU, o.LambdaV, o.LambdaPrior)
		}
	}
	if plain < 20 {
		t.Errorf("%d presets descend plainly", plain)
	}
}
