package experiment

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs"
)

// describe gives every run that has presets, with help that is kept.
func describe(t *testing.T) map[string]*Spec {
	t.Helper()
	specs := map[string]*Spec{}
	for _, s := range shipped {
		specs[s.Name] = SpecOf(s.Name)
		specs[s.Name].Stdout = &bytes.Buffer{}
	}
	return specs
}

// Every folder with presets is a run in the list, and its program names it.
func TestRunsAreListed(t *testing.T) {
	specs := describe(t)
	files, err := fs.Glob(runs.Presets, "*/*.toml")
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d presets, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Dir(file)
		program, err := os.ReadFile(filepath.Join("..", "..", name, "main.go"))
		if err != nil || specs[name] == nil || !strings.Contains(string(program), `train.Main("`+name+`")`) {
			t.Errorf("%s: runs/%s is not a run of the list: %v", file, name, err)
		}
	}
}

// A run without a preset called sample has that of its task, and one with it has its own.
func TestSamplePreset(t *testing.T) {
	for name, s := range describe(t) {
		if _, err := fs.Stat(s.FS, "sample.toml"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("runs/%s has a sample.toml of its own: %v", name, err)
		}
		p, c, err := resolve(s, "sample")
		if err != nil || !c.Data.Sample || strings.Contains(p.Title, "language pair") != (s.Task == Translation) ||
			s.presetNames()[0] != "sample" {
			t.Errorf("runs/%s without data: %v, %+v", name, err, p)
		}
	}
}

// A corpus gets the preset that is named after a size like its own, and each of these is there.
func TestOwnPreset(t *testing.T) {
	s := SpecOf("own")
	for pairs, want := range map[int]string{1: "10k", 10_000: "10k", 60_000: "10k", 60_001: "200k", 200_000: "200k",
		1_000_000: "200k", 1_000_001: "5m", 5_000_000: "5m"} {
		got := s.BySize(pairs)
		if _, err := s.FS.Open(got + ".toml"); got != want || err != nil {
			t.Errorf("%d pairs get %s (%v), want %s", pairs, got, err, want)
		}
	}
}
