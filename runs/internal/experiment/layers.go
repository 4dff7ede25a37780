package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// layers builds a Config from a preset, files and the command line, each above the one before, and remembers which of
// them last gave each key.
type layers struct {
	config Config
	origin map[string]string // key -> what gave it
	byHand map[string]bool   // keys given by the user rather than by a default, a preset or a run folder
	chosen string            // why this preset, where the size of the text chose it
	start  *Config           // of the run whose weights to start from, or nil
	unfit  error             // why none can start from that run; one that goes on has all it needs
}

func newLayers() *layers {
	return &layers{config: Default(), origin: map[string]string{}, byHand: map[string]bool{}}
}

// retired are keys of the section objective that earlier versions wrote, with the value that is what all do now.
var retired = map[string]any{"adversarial_radius": "adaptive", "adversarial_gate": false,
	"adversarial_smoothing": false}

// tree lays parsed TOML over the configuration. from names it in errors; byHand says that a user wrote it.
func (l *layers) tree(tree keys.Tree, from string, byHand bool) error {
	if objective, ok := tree["objective"].(map[string]any); ok {
		maps.DeleteFunc(objective, func(name string, value any) bool { return value == retired[name] })
	}
	given, err := schema.Lay(&l.config, tree, from, false)
	for _, name := range given {
		l.origin[name], l.byHand[name] = from, byHand
	}
	if err != nil {
		return &command.UsageError{Err: err}
	}
	return nil
}

func (l *layers) file(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no configuration file %s: give -config the path of a .toml file", path)
	}
	if err != nil {
		return fmt.Errorf("configuration file: %w", err)
	}
	tree, err := keys.Parse(string(text), path)
	if err != nil {
		return &command.UsageError{Err: err}
	}
	if base, given := tree["base"]; given {
		return command.Usagef("%s: base = %q belongs to a preset's file: remove that line and choose it with -preset "+
			"%v",
			path, base, base)
	}
	dropHeader(tree)
	return l.tree(tree, path, true)
}

// assign lays one "section.key=value" over the configuration; from is the flag that gave it.
func (l *layers) assign(assignment, from string) error {
	name, value, found := strings.Cut(assignment, "=")
	if !found {
		return command.Usagef("%s %s: write %s section.key=value", from, assignment, from)
	}
	return l.give(strings.TrimSpace(name), strings.TrimSpace(value), from)
}

func (l *layers) give(name, value, from string) error {
	if err := schema.Set(&l.config, name, value); err != nil {
		return command.Usagef("%s: %w", from, err)
	}
	l.origin[name], l.byHand[name] = from, true
	return nil
}
