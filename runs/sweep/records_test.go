package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecords: config.toml, metrics.jsonl and results.json are all that a sweep asks of a finished run, so that these
// can be kept, and a sweep goes on from them elsewhere.
func TestRecords(t *testing.T) {
	text, folder := searchText(t, "first_seed = 101\n"+twoMethods), t.TempDir()
	whole, kept := filepath.Join(folder, "whole"), filepath.Join(folder, "kept")
	table, log, err := swept(t, text, "-out", whole)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	found, err := filepath.Glob(filepath.Join(whole, "*", "*", "results.json"))
	if err != nil || len(found) != 12 {
		t.Fatal(found, err)
	}
	for _, path := range append(found, filepath.Join(whole, searchFile)) {
		at, err := filepath.Rel(whole, filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(at) == "mle-seed102" {
			continue
		}
		if err := os.MkdirAll(filepath.Join(kept, at), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{searchFile, "config.toml", "metrics.jsonl", "results.json"} {
			data, err := os.ReadFile(filepath.Join(whole, at, name))
			if os.IsNotExist(err) {
				continue
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(kept, at, name), data, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	again, log, err := swept(t, text, "-out", kept, "-resume")
	if err != nil || strings.ReplaceAll(again, kept, whole) != table {
		t.Errorf("%v\n%s\n%s", err, log, again)
	}
	made := journal(t, kept)
	if len(made) != 2 || made["end mle-seed102"] != 1 {
		t.Errorf("beside the one that was not kept it ran %v", made)
	}
}
