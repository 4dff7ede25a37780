package experiment

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/sample"
)

// Preset is a published, or small, experiment of a run: a file NAME.toml in the run's folder that holds the keys that
// differ from its base and from the defaults. Its header, above the first section, says what it is:
type Preset struct {
	Name string `toml:"-"` // as -preset takes it

	Title     string   `toml:"title" help:"what it is: model, data and paper"`
	Size      string   `toml:"size" help:"parameters, as in \"39 M parameters\"; the base's where it is missing"`
	Duration  string   `toml:"duration" help:"time to train, and on what, as in \"20 min on two CPU cores\"; else the base's"`
	Published []string `toml:"published" help:"published rows, each as \"METHOD: figures (source)\""`
	Base      string   `toml:"base" help:"another preset of the same folder, whose keys are taken first"`

	parts []part // of the bases, the outermost first, and its own
}

// part is what a preset's file gives below its header.
type part struct {
	from string
	tree keys.Tree
}

var presetSchema = keys.New[Preset]("")

func (s *Spec) preset(name string) (*Preset, error) { return s.presetAfter(name, nil) }

// presetAfter reads a preset that the presets called names are based on.
func (s *Spec) presetAfter(name string, names []string) (*Preset, error) {
	if slices.Contains(names, name) {
		return nil, fmt.Errorf("preset %s is its own base: %s", name, strings.Join(append(names, name),
			" is based on "))
	}
	text, err := fs.ReadFile(s.FS, name+".toml")
	switch {
	case err == nil:
	case name == samplePreset:
		text, err = []byte(sample.Preset(s.Task == LanguageModel)), nil
	case name == finetunePreset && s.Task == Translation:
		text, err = finetuning, nil
	}
	known := strings.Join(s.choices(), ", ")
	if len(names) > 0 && err != nil {
		return nil, fmt.Errorf("preset %s is based on %q, and there is no such preset: runs/%s has %s",
			names[len(names)-1], name, s.Name, known)
	}
	if err != nil {
		return nil, command.Usagef("unknown preset %q: runs/%s has %s", name, s.Name, known)
	}
	from := "preset " + name
	tree, err := keys.Parse(string(text), from)
	if err != nil {
		return nil, err
	}
	p := &Preset{Name: name}
	if _, err := presetSchema.Lay(p, tree, from, true); err != nil {
		return nil, err
	}
	dropHeader(tree)
	if p.Base != "" {
		base, err := s.presetAfter(p.Base, append(names, name))
		if err != nil {
			return nil, err
		}
		p.parts, p.Size, p.Duration = base.parts, cmp.Or(p.Size, base.Size), cmp.Or(p.Duration, base.Duration)
	}
	p.parts = append(slices.Clip(p.parts), part{from, tree})
	return p, nil
}

// dropHeader removes a preset's header, which says nothing about the run.
func dropHeader(tree keys.Tree) {
	for _, k := range presetSchema.Keys() {
		delete(tree, k.Name)
	}
}

// presetNames lists the presets: the default without data, the default with data, and the others by name.
func (s *Spec) presetNames() []string {
	names := slices.Compact([]string{samplePreset, s.DefaultPreset})
	files, _ := fs.Glob(s.FS, "*.toml")
	for _, file := range files {
		if name := strings.TrimSuffix(file, ".toml"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// choices lists the presets that -preset takes: those of presetNames, and the one that all runs of translators share.
func (s *Spec) choices() []string {
	if s.Task == Translation {
		return append(s.presetNames(), finetunePreset)
	}
	return s.presetNames()
}

func (l *layers) preset(p *Preset) error {
	for _, part := range p.parts {
		if err := l.tree(part.tree, part.from, false); err != nil {
			return err
		}
	}
	return nil
}
