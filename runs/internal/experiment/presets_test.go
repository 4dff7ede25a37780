package experiment

import (
	"os"
	"path/filepath"
	"testing"
)

// Every preset that a run ships is whole: each key is there, commented, and the experiment can be trained.
func TestPresetsAreComplete(t *testing.T) {
	runs := os.DirFS(filepath.Join("..", ".."))
	files, err := filepath.Glob(filepath.Join("..", "..", "*", "*.toml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d presets, %v", len(files), err)
	}
	for _, file := range files {
		run, name := filepath.Base(filepath.Dir(file)), filepath.Base(file)
		if err := CheckComplete(runs, run+"/"+name); err != nil {
			t.Error(err)
			continue
		}
		l := newLayers()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.text(string(text), file, false); err != nil {
			t.Fatal(err)
		}
		if c := l.config; c.Run != run || c.Preset+".toml" != name {
			t.Errorf("%s calls itself preset %s of runs/%s", file, c.Preset, c.Run)
		}
	}
}
