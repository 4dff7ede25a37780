package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

// layers builds a Config from a preset, files and the command line, each above the one before, and remembers which of
// them last gave each key.
type layers struct {
	config Config
	origin map[string]string // key -> what gave it
	byHand map[string]bool   // keys given by the user rather than by a default, a preset or a run folder
}

func newLayers() *layers {
	return &layers{config: Default(), origin: map[string]string{}, byHand: map[string]bool{}}
}

// text lays a TOML text over the configuration. from names it in errors; byHand says that a user wrote it.
func (l *layers) text(text, from string, byHand bool) error {
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			return command.Usagef("%s: line %d: %s", from, syntax.Position.Line, command.OneLine(syntax.Message))
		}
		return command.Usagef("%s: %s", from, command.OneLine(err.Error()))
	}
	// Keys are laid in the order of Config, so that the first of several errors is always the same one.
	sections := []string{""}
	for _, k := range keys() {
		if !slices.Contains(sections, k.section()) {
			sections = append(sections, k.section())
		}
		table, name := tree, k.name
		if section := k.section(); section != "" {
			value, given := tree[section]
			if !given {
				continue
			}
			var ok bool
			if table, ok = value.(map[string]any); !ok {
				return command.Usagef("%s: %s wants a section [%s], not %s", from, section, section, describe(value))
			}
			name = k.base()
		}
		value, given := table[name]
		if !given {
			continue
		}
		if err := k.set(&l.config, value); err != nil {
			return command.Usagef("%s: %w", from, err)
		}
		l.origin[k.name] = from
		l.byHand[k.name] = byHand
	}
	return checkNames(tree, sections, from)
}

// checkNames reports the first name in tree that is no key: TOML itself would pass over it in silence.
func checkNames(tree map[string]any, sections []string, from string) error {
	var names []string
	for name, value := range tree {
		table, isTable := value.(map[string]any)
		if !isTable {
			names = append(names, name)
			continue
		}
		if !slices.Contains(sections, name) {
			return command.Usagef("%s: unknown section [%s]: did you mean [%s]?", from, name, Nearest(name, sections[1:]))
		}
		for inner := range table {
			names = append(names, name+"."+inner)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if _, err := lookup(name); err != nil {
			return command.Usagef("%s: %w", from, err)
		}
	}
	return nil
}

// file lays a TOML file that the user named over the configuration.
func (l *layers) file(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no configuration file %s: give -config the path of a .toml file", path)
	}
	if err != nil {
		return fmt.Errorf("configuration file: %w", err)
	}
	return l.text(string(text), path, true)
}

// assign lays one "section.key=value" over the configuration; from is the flag that gave it.
func (l *layers) assign(assignment, from string) error {
	name, value, found := strings.Cut(assignment, "=")
	if !found {
		return command.Usagef("%s %s: write %s section.key=value", from, assignment, from)
	}
	return l.give(strings.TrimSpace(name), strings.TrimSpace(value), from)
}

// give lays one value, as text, over the configuration.
func (l *layers) give(name, value, from string) error {
	k, err := lookup(name)
	if err == nil {
		err = k.setText(&l.config, value)
	}
	if err != nil {
		return command.Usagef("%s: %w", from, err)
	}
	l.origin[k.name] = from
	l.byHand[k.name] = true
	return nil
}
