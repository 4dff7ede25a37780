package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that names searches runs them one after the other, each in a folder of its own, and goes on where it was.
func TestParts(t *testing.T) {
	folder := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	search := "command = \"" + os.Args[0] + "\"\nmethods = [\"mle\"]\ntrials = 2\nseeds = 1\n[keys]\n" +
		"train.learning_rate = {log = [0.001, 0.1]}\n"
	put("one.toml", search)
	put("two.toml", strings.Replace(search, "trials = 2", "trials = 1", 1))
	all := put("all.toml", "sweeps = [\"one.toml\", \"two.toml\"]\n")
	t.Setenv("SWEEP_ROLE", "train")
	out := filepath.Join(folder, "out")
	said, log, err := swept(t, all, "-out", out, "-dry-run")
	if err != nil || !strings.Contains(said, "one:\n") || !strings.Contains(said, "two:\n") {
		t.Fatalf("%v\n%s\n%s", err, said, log)
	}
	if _, log, err = swept(t, filepath.Join(folder, "one.toml"), "-out", filepath.Join(out, "one")); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if said, _, err = swept(t, all, "-out", out, "-table"); err != nil || !strings.Contains(said, "It has not begun.") {
		t.Errorf("%v\n%s", err, said)
	}
	if _, _, err = swept(t, all, "-out", out); err == nil || !strings.Contains(err.Error(), "already holds a sweep") {
		t.Errorf("a second start: %v", err)
	}
	if said, log, err = swept(t, all, "-out", out, "-resume"); err != nil {
		t.Fatalf("%v\n%s\n%s", err, said, log)
	}
	for _, name := range []string{"one", "two"} {
		if _, err := os.Stat(filepath.Join(out, name, chosenDir, "mle-seed1", "results.json")); err != nil {
			t.Error(err)
		}
	}
	for text, want := range map[string]string{
		"sweeps = [\"one.toml\"]\ncommand = \"ptb\"\n": "leave one of the two out",
		"sweeps = [\"one.toml\"]\nseeds = 5\n":         "leave one of the two out",
		"sweeps = [\"one.toml\"]\n[keys]\na.b = [1]\n": "move them there",
		"sweeps = [\"none.toml\"]\n":                   "none.toml",
		"sweeps = [\"all.toml\"]\n":                    "names searches",
		"sweeps = [\"one.toml\", \"./one.toml\"]\n":    "would both be in",
	} {
		if _, _, err := swept(t, put("bad.toml", text), "-out", filepath.Join(folder, "bad")); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Every search of docs/results/sweeps can be read, and those that it names too.
func TestCommittedSearches(t *testing.T) {
	paths, err := filepath.Glob("../../docs/results/sweeps/*.toml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		s, err := readSearch(path)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, p := range parts(s, &flags{file: path}) {
			if _, err := os.Stat(p.flags.file); err != nil {
				t.Error(err)
			}
		}
	}
}
