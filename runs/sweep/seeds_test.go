package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFirstSeed: with first_seed no seed of the search is tested, which has more than one where points come again.
func TestFirstSeed(t *testing.T) {
	for _, c := range []struct {
		lines, first, second string
		jobs                 int
	}{
		{"search = \"grid\"\nfirst_seed = 101", "mle-seed101", "mle-seed102", 2 + 2},
		{"trials = 4\nfirst_seed = 3", "mle-seed3", "mle-seed4", 4 + 2},
	} {
		out := filepath.Join(t.TempDir(), "sweep")
		_, log, err := swept(t, searchText(t, c.lines, "seeds = 2\n[keys]\ntrain.learning_rate = [0.1, 0.2]"), "-out", out)
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		found, err := filepath.Glob(filepath.Join(out, chosenDir, "mle-seed*", "results.json"))
		if err != nil || len(found) != 2 || filepath.Base(filepath.Dir(found[0])) != c.first ||
			filepath.Base(filepath.Dir(found[1])) != c.second {
			t.Errorf("tested: %v (%v)", found, err)
		}
		if made := journal(t, out); made["end "+c.first] != 1 || made["end "+c.second] != 1 {
			t.Errorf("not trained anew: %v", made)
		}
		checkProgress(t, log, 1, c.jobs)
	}
}

// TestSeedBySeed: all methods are tested with a seed before any is with the next one.
func TestSeedBySeed(t *testing.T) {
	_, log, err := swept(t, searchText(t, "first_seed = 101\n"+twoMethods), "-out", filepath.Join(t.TempDir(), "sweep"))
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, m := range regexp.MustCompile(`(\w+) chosen, seed (\d+)`).FindAllStringSubmatch(log, -1) {
		order = append(order, m[1]+m[2])
	}
	if got := strings.Join(order, " "); got != "mle101 cosreg101 mle102 cosreg102" {
		t.Errorf("the order is %s", got)
	}
}
