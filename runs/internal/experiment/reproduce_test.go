package experiment

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

// reproduced is a command of docs/reproduce.md that trains a row, and the figures that stand beside it.
type reproduced struct {
	line, section   string // the line of the document, and its section's title
	run, preset     string
	method, figures string
	args            []string
}

func (r reproduced) name() string { return r.run + "/" + r.preset + ":" + r.method }

var (
	commandInDoc = regexp.MustCompile("(?:`|^    |\\| )go run \\./runs/(\\w+)([^`|]*)")
	figure       = regexp.MustCompile(`\d+\.\d+`)
)

// readReproduced walks docs/reproduce.md. Commands of other programs than those that train need only be there, with the
// files that they name.
func readReproduced(t *testing.T, specs map[string]*Spec) (all []reproduced) {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "reproduce.md"))
	if err != nil {
		t.Fatal(err)
	}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if title, found := strings.CutPrefix(line, "## "); found {
			section = title
		}
		cells := strings.Split(line, "|")
		if len(cells) == 5 && strings.HasPrefix(strings.TrimSpace(cells[3]), "the same") && len(all) > 0 {
			again := all[len(all)-1]
			again.line, again.figures = line, cells[2]
			all = append(all, again)
			continue
		}
		for _, found := range commandInDoc.FindAllStringSubmatch(line, -1) {
			run, rest := found[1], found[2]
			if _, err := os.Stat(filepath.Join(root, "runs", run)); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			args := strings.Fields(strings.Split(rest, "<")[0])
			for _, a := range args {
				if _, err := os.Stat(filepath.Join(root, a)); strings.HasPrefix(a, "docs/") && err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
			if specs[run] == nil {
				continue
			}
			r := reproduced{line: line, section: section, run: run, args: args}
			for _, a := range args {
				if preset, found := strings.CutPrefix(a, "-preset="); found {
					r.preset = preset
				}
				if method, found := strings.CutPrefix(a, "-method="); found {
					r.method = method
				}
			}
			if len(cells) == 5 {
				r.figures = cells[2]
			}
			all = append(all, r)
		}
	}
	return all
}

// TestReproduce walks docs/reproduce.md: each command that trains resolves with -print-config, to the settings that are
// stated for its row, and the figures beside it are those of the preset's header. Every row of every header stands
// there, and those that are not published stand apart.
func TestReproduce(t *testing.T) {
	specs, data := describe(t), t.TempDir()
	vectors, printed := filepath.Join(data, "vectors.vec"), filepath.Join(data, "config.toml")
	if err := os.WriteFile(vectors, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	earlier := t.TempDir() // a run of the same network and method, to start from
	place := strings.NewReplacer("DIR", data, "FILE", vectors, "FOLDER", earlier)
	const controls = "Controls and other texts"
	told := map[string][]string{} // by row, the figures of the document
	for _, r := range readReproduced(t, specs) {
		var args []string
		for _, a := range r.args {
			args = append(args, place.Replace(a))
		}
		s := specs[r.run]
		out := &bytes.Buffer{}
		s.Stdout = out
		if i := slices.Index(args, "-init"); i >= 0 {
			Parse(s, append([]string{"-print-config"}, slices.Delete(slices.Clone(args), i, i+2)...))
			if err := os.WriteFile(filepath.Join(earlier, ConfigFile), out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			out.Reset()
		}
		if _, err := Parse(s, append([]string{"-print-config"}, args...)); !errors.Is(err, command.ErrHelp) ||
			out.Len() == 0 {
			t.Errorf("%s: -print-config gave %v", r.line, err)
			continue
		}
		if err := os.WriteFile(printed, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		settings, err := Parse(s, []string{"-config", printed})
		if err != nil {
			t.Errorf("%s: what -print-config prints: %v", r.line, err)
			continue
		}
		checkStated(t, r, &settings.Config)
		figures := figure.FindAllString(r.figures, -1)
		told[r.name()] = append(told[r.name()], figures...)
		header, found := published(t, s, r.preset, r.method)
		known := figure.FindAllString(header, -1)
		for _, f := range figures {
			if !slices.Contains(known, f) {
				t.Errorf("%s: the header of preset %s has %q", r.line, r.preset, header)
			}
		}
		if apart := strings.HasPrefix(header, "not published"); found && apart != (r.section == controls) {
			t.Errorf("%s stands in the section %s, and its header says %q", r.line, r.section, header)
		}
	}
	for _, s := range specs {
		for _, name := range s.presetNames() {
			p, err := s.preset(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range p.Published {
				method, header, _ := strings.Cut(row, ": ")
				id := s.Name + "/" + name + ":" + method
				figures, found := told[id]
				if !found {
					t.Errorf("docs/reproduce.md has no command of %s: %s", id, header)
				}
				for _, f := range figure.FindAllString(header, -1) {
					if !slices.Contains(figures, f) && !strings.HasPrefix(header, "not published") {
						t.Errorf("docs/reproduce.md does not have %s of %s: %s", f, id, header)
					}
				}
			}
		}
	}
	for _, s := range stated {
		for _, row := range strings.Fields(s.rows) {
			if _, found := told[row]; !found {
				t.Errorf("settings are stated for %s, which docs/reproduce.md does not have", row)
			}
		}
	}
}

// published is what a preset's header says of a method.
func published(t *testing.T, s *Spec, preset, method string) (header string, found bool) {
	t.Helper()
	p, err := s.preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range p.Published {
		if of, header, _ := strings.Cut(row, ": "); of == method {
			return header, true
		}
	}
	return "", false
}

// checkStated compares what a command resolves to with the settings that are stated for its row, but for keys that the
// command itself sets: those are a reading or a text of its own. A row with figures has some.
func checkStated(t *testing.T, r reproduced, c *Config) {
	t.Helper()
	found := false
	for _, s := range stated {
		if !slices.Contains(strings.Fields(s.rows), r.name()) {
			continue
		}
		found = true
		for _, setting := range strings.Fields(s.settings) {
			key, value, _ := strings.Cut(setting, "=")
			if slices.ContainsFunc(r.args, func(a string) bool { return strings.HasPrefix(a, key+"=") }) {
				continue
			}
			k, err := schema.Lookup(key)
			if err != nil {
				t.Fatal(err)
			}
			want := *c
			if err := schema.Set(&want, key, value); err != nil {
				t.Fatal(err)
			}
			if got, want := schema.Value(c, k), schema.Value(&want, k); got != want {
				t.Errorf("%s trains with %s = %s, and %s is stated", r.line, key, got, want)
			}
		}
	}
	if !found && figure.MatchString(r.figures) {
		t.Errorf("%s: no settings are stated for %s", r.line, r.name())
	}
}
