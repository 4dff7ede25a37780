package experiment

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// resolve reads a preset and what it makes of the defaults.
func resolve(s *Spec, name string) (*Preset, Config, error) {
	p, err := s.preset(name)
	if err != nil {
		return nil, Config{}, err
	}
	l := newLayers()
	err = l.preset(p)
	return p, l.config, err
}

// eachPreset runs a test for every preset of every run.
func eachPreset(t *testing.T, test func(t *testing.T, s *Spec, p *Preset, c Config)) {
	t.Helper()
	for _, s := range describe(t) {
		for _, name := range s.presetNames() {
			t.Run(s.Name+"/"+name, func(t *testing.T) {
				p, c, err := resolve(s, name)
				if err != nil {
					t.Fatal(err)
				}
				test(t, s, p, c)
			})
		}
	}
}

// Every preset says what it is, gives keys that its task reads, and can be trained: with a corpus, and without one.
func TestPresets(t *testing.T) {
	data := t.TempDir()
	eachPreset(t, func(t *testing.T, s *Spec, p *Preset, c Config) {
		if p.Title == "" || p.Size == "" || p.Duration == "" {
			t.Errorf("title %q, size %q, duration %q: each must say something", p.Title, p.Size, p.Duration)
		}
		for _, part := range p.parts {
			l := newLayers()
			if err := l.tree(part.tree, part.from, false); err != nil {
				t.Fatal(err)
			}
			for name := range l.origin {
				if k, err := schema.Lookup(name); err != nil || k.Section() == "" || !k.Of(string(s.Task)) {
					t.Errorf("it gives %s, which a %s does not read", name, s.Task.network())
				}
			}
		}
		c.Data.Dir = data
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		for _, args := range [][]string{{"-data", data}, nil} {
			settings, err := Parse(s, append(args, "-preset", p.Name))
			if err != nil {
				t.Errorf("%q: %v", args, err)
				continue
			}
			if got := settings.Config; got.Run != s.Name || got.Preset != p.Name || got.Data.Sample != (args == nil) {
				t.Errorf("%q is preset %s of runs/%s, with the sample: %v", args, got.Preset, got.Run, got.Data.Sample)
			}
		}
	})
}

// What differs in the method alone needs no preset of its own: -method chooses it.
func TestPresetsDiffer(t *testing.T) {
	same := map[string]string{} // what a preset comes to but for its method, and the preset's name
	eachPreset(t, func(t *testing.T, s *Spec, p *Preset, c Config) {
		c.Objective.Method = ""
		text := s.Name + "\n" + schema.Print(&c, string(s.Task))
		if other := same[text]; other != "" {
			t.Errorf("it differs from %s in nothing, or in objective.method alone", other)
		}
		same[text] = p.Name
	})
}

// Each published row begins with the method that it is of, the preset's own first, and each method can be trained.
func TestPublishedMethods(t *testing.T) {
	data := t.TempDir()
	eachPreset(t, func(t *testing.T, s *Spec, p *Preset, c Config) {
		var methods []string
		for _, row := range p.Published {
			method, figures, found := strings.Cut(row, ": ")
			if !found || figures == "" {
				t.Errorf("%q is not of the form METHOD: FIGURES", row)
			}
			if slices.Contains(methods, method) {
				t.Errorf("two rows are of %s", method)
			}
			methods = append(methods, method)
			if _, err := Parse(s, []string{"-data", data, "-preset", p.Name, "-method", method}); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
		if len(methods) > 0 && methods[0] != c.Objective.Method {
			t.Errorf("the first row is of %s, and the preset's method is %s", methods[0], c.Objective.Method)
		}
	})
}

// Presets hold differences: all of them together stay readable.
func TestPresetsAreShort(t *testing.T) {
	lines := 0
	for _, s := range describe(t) {
		for _, name := range s.presetNames() {
			text, err := fs.ReadFile(s.FS, name+".toml")
			if err != nil && name != samplePreset {
				t.Fatal(err)
			}
			lines += bytes.Count(text, []byte("\n"))
		}
	}
	if lines > 2500 {
		t.Errorf("all presets have %d lines: give keys that differ from a base, and leave out defaults", lines)
	}
}

// -h lists every preset file with what it says of itself.
func TestHelpListsPresets(t *testing.T) {
	for name, s := range describe(t) {
		if _, err := Parse(s, []string{"-h"}); !errors.Is(err, command.ErrHelp) {
			t.Fatalf("%s: %v", name, err)
		}
		_, list, _ := strings.Cut(s.Stdout.(*bytes.Buffer).String(), "\nPresets:\n")
		files, err := fs.Glob(s.FS, "*.toml")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range append(files, "sample.toml") {
			p, _, err := resolve(s, strings.TrimSuffix(file, ".toml"))
			if err != nil {
				t.Fatal(err)
			}
			_, entry, found := strings.Cut("\n"+list, "\n  "+p.Name+" ")
			header, below, _ := strings.Cut(entry, "\n")
			below, _, _ = strings.Cut(below, "\n")
			if !found || !strings.HasPrefix(strings.TrimSpace(header), p.Title) ||
				strings.TrimSpace(below) != p.Size+"; "+p.Duration {
				t.Errorf("runs/%s -h describes %s as %q, %q", name, p.Name, header, below)
			}
		}
		for _, use := range []string{"(default with -data)", "(default without -data)"} {
			want := 1
			if s.BySize != nil && use == "(default with -data)" {
				want = 0 // the size of the text chooses
			}
			if strings.Count(list, use) != want {
				t.Errorf("runs/%s -h has %d presets that are %q", name, strings.Count(list, use), use)
			}
		}
	}
}

// A preset takes the keys of its base and of the base's base, and what it does not say of itself is theirs; title and
// published rows are its own.
func TestBases(t *testing.T) {
	s := &Spec{Name: "toy", Task: Translation, DefaultPreset: "top", FS: fstest.MapFS{
		"root.toml": {Data: []byte("title = \"R\"\nsize = \"1 M\"\nduration = \"an hour\"\npublished = [\"mle: " +
			"1\"]\n[train]\nsteps = 1\nseed = 1\n[model]\nwidth = 8\n")},
		"middle.toml": {Data: []byte("title = \"M\"\nsize = \"2 M\"\nbase = \"root\"\n[train]\nsteps = 2\nseed = 2\n")},
		"top.toml":    {Data: []byte("base = \"middle\"\n[train]\nsteps = 3\n")},
		"other.toml":  {Data: []byte("base = \"middle\"\n[train]\nepochs = 4\n")},
	}}
	for range 2 { // reading one preset changes no other
		p, c, err := resolve(s, "top")
		if err != nil || p.Title != "" || p.Size != "2 M" || p.Duration != "an hour" || p.Published != nil ||
			p.Base != "middle" {
			t.Errorf("its header is %+v, %v", p, err)
		}
		if c.Train.Steps != 3 || c.Train.Seed != 2 || c.Model.Width != 8 || c.Train.Epochs != 0 {
			t.Errorf("it comes to %+v", c.Train)
		}
		if _, c, err := resolve(s, "other"); err != nil || c.Train.Steps != 2 || c.Train.Epochs != 4 {
			t.Errorf("its neighbour comes to %+v, %v", c.Train, err)
		}
	}
	if names := strings.Join(s.presetNames(), " "); names != "sample top middle other root" {
		t.Errorf("the presets are %s", names)
	}
}

// What is wrong with a preset is reported in one sentence that names it.
func TestPresetErrors(t *testing.T) {
	s := &Spec{Name: "toy", Task: Translation, DefaultPreset: "good", FS: fstest.MapFS{
		"good.toml":     {Data: []byte("title = \"G\"\n[train]\nsteps = 1\n")},
		"orphan.toml":   {Data: []byte("base = \"god\"\n")},
		"self.toml":     {Data: []byte("base = \"self\"\n")},
		"egg.toml":      {Data: []byte("base = \"hen\"\n")},
		"hen.toml":      {Data: []byte("base = \"egg\"\n")},
		"unknown.toml":  {Data: []byte("[train]\nsteps = 1\nstpes = 1\n")},
		"typed.toml":    {Data: []byte("title = 3\n")},
		"syntax.toml":   {Data: []byte("title = \"T\"\n[train]\nsteps =\n")},
		"nobody.toml":   {Data: []byte("tite = \"T\"\n")},
		"heiress.toml":  {Data: []byte("base = \"unknown\"\n")},
		"daughter.toml": {Data: []byte("base = \"orphan\"\n")},
	}}
	for name, want := range map[string]string{
		"orphan":   `preset orphan is based on "god", and there is no such preset: runs/toy has sample, good, daughter, egg, `,
		"daughter": `preset orphan is based on "god", and there is no such preset: runs/toy has sample, good, `,
		"self":     "preset self is its own base: self is based on self",
		"egg":      "preset egg is its own base: egg is based on hen is based on egg",
		"unknown":  "preset unknown: unknown key train.stpes: did you mean train.steps?",
		"typed":    "preset typed: title wants a text in quotes, not the whole number 3",
		"syntax":   "preset syntax: line 3: expected value but found '\\n' instead",
		"nobody":   "preset nobody: unknown key tite: did you mean ",
		"heiress":  "preset unknown: unknown key train.stpes: did you mean train.steps?",
		"none":     `unknown preset "none": runs/toy has sample, good, `,
	} {
		_, _, err := resolve(s, name)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s gave %v, want %s", name, err, want)
		}
	}
	if _, err := Parse(s, []string{"-preset=none"}); command.ExitCode(err) != 2 {
		t.Errorf("a preset that is none has exit code %d", command.ExitCode(err))
	}
}

// The keys of a preset's header are none of the configuration, so that neither hides the other.
func TestHeadersAreApart(t *testing.T) {
	for _, header := range presetSchema.Keys() {
		for _, k := range schema.Keys() {
			if header.Name == k.Name || header.Name == k.Section() {
				t.Errorf("%s is a key of the header, and of the configuration", header.Name)
			}
		}
	}
}

// A preset that trains with SGD holds the spectrum by proximal steps, or by penalties that its rate allows, whatever
// its method: others diverge, and -method=spectrum must train from every preset.
func TestSGDPresetsHoldSpectrum(t *testing.T) {
	found := 0
	eachPreset(t, func(t *testing.T, s *Spec, p *Preset, c Config) {
		if c.Train.Optimizer != "sgd" {
			return
		}
		found++
		o, prior := objectives.Of[objectives.FactorSettings](c.Objective), objectives.Of[objectives.SpectrumSettings](c.Objective)
		allowed := max(o.LambdaU, o.LambdaV, prior.LambdaPrior) <= 0.01 && o.LambdaUSpectral == 0 &&
			o.LambdaVSpectral == 0 && c.Train.LearningRate <= 30
		if !(o.SpectrumHold == "proximal" && o.RetractEvery == 10) && !(o.SpectrumHold == "penalty" && allowed) {
			t.Errorf("objective.spectrum_hold is %s, retract_every %d, lambda_u %g, lambda_v %g, lambda_prior %g",
				o.SpectrumHold, o.RetractEvery, o.LambdaU, o.LambdaV, prior.LambdaPrior)
		}
	})
	if found < 18 {
		t.Errorf("%d presets train with SGD", found)
	}
}
