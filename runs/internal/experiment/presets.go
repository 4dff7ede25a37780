package experiment

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/sample"
)

// Preset is one published, or small, experiment of a run: a file NAME.toml in the run's folder that says what it is and holds the
// keys that differ from its base and from the defaults. Its header are the keys above the first section:
type Preset struct {
	Name string `toml:"-"` // as -preset takes it

	Title     string   `toml:"title" help:"what it is: model, data and paper"`
	Size      string   `toml:"size" help:"parameters, as in \"39 M parameters\"; the base's where it is missing"`
	Duration  string   `toml:"duration" help:"time to train, and on what, as in \"20 min on two CPU cores\"; the base's where it is missing"`
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

// preset reads a preset with its bases.
func (s *Spec) preset(name string) (*Preset, error) { return s.presetAfter(name, nil) }

// presetAfter reads a preset that those of names are based on.
func (s *Spec) presetAfter(name string, names []string) (*Preset, error) {
	if slices.Contains(names, name) {
		return nil, fmt.Errorf("preset %s is its own base: %s", name, strings.Join(append(names, name), " is based on "))
	}
	text, err := fs.ReadFile(s.FS, name+".toml")
	if err != nil && name == samplePreset {
		text, err = []byte(sample.Preset(s.task() == LanguageModel)), nil
	}
	if len(names) > 0 && err != nil {
		return nil, fmt.Errorf("preset %s is based on %q, and there is no such preset: runs/%s has %s", names[len(names)-1], name, s.Name, strings.Join(s.presetNames(), ", "))
	}
	if err != nil {
		return nil, command.Usagef("unknown preset %q: runs/%s has %s", name, s.Name, strings.Join(s.presetNames(), ", "))
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
	for _, k := range presetSchema.Keys() {
		delete(tree, k.Name)
	}
	if p.Base != "" {
		base, err := s.presetAfter(p.Base, append(names, name))
		if err != nil {
			return nil, err
		}
		p.parts = base.parts
		if p.Size == "" {
			p.Size = base.Size
		}
		if p.Duration == "" {
			p.Duration = base.Duration
		}
	}
	p.parts = append(slices.Clip(p.parts), part{from, tree})
	return p, nil
}

// presetNames lists the presets: the one that is the default without data first, then the one with data, then the others by name.
func (s *Spec) presetNames() []string {
	files, err := fs.Glob(s.FS, "*.toml")
	if err != nil {
		return nil
	}
	first := []string{samplePreset, s.DefaultPreset}
	var names []string
	for _, file := range files {
		if name := strings.TrimSuffix(file, ".toml"); slices.Contains(first, name) {
			continue
		}
		names = append(names, strings.TrimSuffix(file, ".toml"))
	}
	return append(slices.Compact(first), names...)
}

// preset lays a preset's keys over the configuration.
func (l *layers) preset(p *Preset) error {
	for _, part := range p.parts {
		if err := l.tree(part.tree, part.from, false); err != nil {
			return err
		}
	}
	return nil
}
