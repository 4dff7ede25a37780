package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFirstSeed: with first_seed no seed of the search is tested.
func TestFirstSeed(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	text := searchText(t, "search = \"grid\"\nseeds = 2\nfirst_seed = 101\n[keys]\ntrain.learning_rate = [0.1, 0.2]")
	_, log, err := swept(t, text, "-out", out)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	found, err := filepath.Glob(filepath.Join(out, chosenDir, "mle-seed*", "results.json"))
	if err != nil || len(found) != 2 || !strings.Contains(found[0], "mle-seed101") ||
		!strings.Contains(found[1], "mle-seed102") {
		t.Errorf("tested: %v (%v)", found, err)
	}
	checkProgress(t, log, 1, 4)
}
