package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCommittedForest: the pictures of differences are what -forest makes of the scores beside them.
func TestCommittedForest(t *testing.T) {
	const results = "../../docs/results"
	look, err := forest([]string{results + "/evidence-multi30k/all.csv"}, "mle")
	if err != nil {
		t.Fatal(err)
	}
	if committed, err := os.ReadFile(results + "/evidence-multi30k/forest.svg"); err != nil ||
		string(committed) != look.File() {
		t.Errorf("%v: docs/results/evidence-multi30k/forest.svg is stale", err)
	}
	drawing, err := forest([]string{results + "/multi30k/all.csv", results + "/ptb/all.csv"}, "mle")
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile(results + "/forest.svg")
	if err != nil || string(committed) != drawing.File() {
		t.Errorf("%v: docs/results/forest.svg is stale: go run ./runs/compare -forest docs/results/forest.svg "+
			"docs/results/multi30k/all.csv docs/results/ptb/all.csv", err)
	}
	for i, line := range []string{"ptb, dynamic: spectrum (3)", "ptb, dynamic: cosreg (3)"} {
		if drawing.Y.Places[i] != line {
			t.Errorf("line %d is %s, want %s", i, drawing.Y.Places[i], line)
		}
	}
}

// TestForestNamesTheFolder: of a file in the working folder too.
func TestForestNamesTheFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "ptb")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	write(t, "all.csv", "method,measure,values\nmle,test.x.nll,1 2\ncosreg,test.x.nll,2 3\n")
	if drawing, err := forest([]string{"all.csv"}, "mle"); err != nil || drawing.Y.Places[0] != "ptb: cosreg (2)" {
		t.Errorf("%v, %q", err, drawing.Y.Places)
	}
}

// TestForestTellsTextsApart: each line says of which text it is, and by which evaluation.
func TestForestTellsTextsApart(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "ptb")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	path, text := filepath.Join(folder, "all.csv"), "method,measure,values\n"
	for _, measure := range []string{"test.x.nll", "test.x.cache.nll", "test.x.dynamic.nll", "test.y.nll"} {
		text += "mle," + measure + ",1 2\ncosreg," + measure + ",2 3\n"
	}
	write(t, path, text)
	drawing, err := forest([]string{path}, "mle")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ptb y: cosreg (2)", "ptb x, dynamic: cosreg (2)", "ptb x, cache: cosreg (2)", "ptb x: cosreg (2)"}
	if diff := cmp.Diff(want, drawing.Y.Places); diff != "" {
		t.Error(diff)
	}
}

// TestForestCountsSeeds: a seed that a method lacks is none of its seeds.
func TestForestCountsSeeds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all.csv")
	text := "method,measure,values\nmle,test.x.nll,1 2 3\ncosreg,test.x.nll,2  3\nspectrum,test.x.nll,2 3 4\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	drawing, err := forest([]string{path}, "mle")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{": spectrum (3)", ": cosreg (2)"} {
		if !strings.HasSuffix(drawing.Y.Places[i], want) {
			t.Errorf("the lines are %q", drawing.Y.Places)
		}
	}
}

func TestForestRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "no columns method, measure and values",
		"a,b\n1,2\n":                   "no columns method, measure and values",
		"method,measure,values\nmle\n": "wrong number of fields",
		"method,measure,values\nmle,test.x.nll,1 y\n":                                        ":2: \"y\" is no number",
		"method,measure,values\nmle,test.x.nll,1 2\nl2,test.x.bleu,1 2\n":                    "another -control",
		"method,measure,values\nvmf,test.x.nll,1 2\nl2,test.x.nll,1 2\n":                     "another -control",
		"method,measure,values\nmle,test.x.nll.seen.1,1 2\ncosreg,test.x.nll.seen.1,1 2\n":   "another -control",
		"method,measure,values\nmle,test.x.nll,1 2\ncosreg,test.x.nll,1 2 3\n":               ":3: 3 values, and the first",
		"method,measure,values\nmle,test.x.nll,1 2\nl2,test.x.nll,2 3\nmle,test.x.nll,3 4\n": "mle has several rows",
	} {
		path := filepath.Join(t.TempDir(), "all.csv")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := forest([]string{path}, "mle"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %s", text, err, want)
		}
	}
	if _, err := forest([]string{"/no/all.csv"}, "mle"); err == nil || !strings.Contains(err.Error(), "/no/all.csv") {
		t.Errorf("a missing file gives %v", err)
	}
}
