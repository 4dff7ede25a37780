package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/runs/internal/record"
)

// TestCSV has a line for each trial that ended, a failed one too, and ranks those of one method.
func TestCSV(t *testing.T) {
	file, folder := searchText(t, "search = \"grid\"\nseeds = 1\nfirst_seed = 2\n[keys]\ntrain.learning_rate = [0.9, 0.01, 0.001]"),
		filepath.Join(t.TempDir(), "sweep")
	if _, log, err := swept(t, file, "-out", folder); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	env := `{"device": "cpu", "isa": "avx2", "code": {"commit": "0123"}}`
	for _, trial := range []string{"mle-001", "mle-003"} {
		if err := os.WriteFile(filepath.Join(folder, trialsDir, trial, "env.json"), []byte(env), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	found, log, err := swept(t, file, "-csv", "-out", folder)
	want := `trial,method,seed,train.learning_rate,valid_loss,valid_bleu,rank,updates,train_seconds,device,isa,commit,failed
mle-001,mle,1,0.9,,,,,,cpu,avx2,0123,the loss is not finite
mle-002,mle,1,0.01,3.0509999999999997,,2,20,0,,,,
mle-003,mle,1,0.001,2.0509999999999997,,1,20,0,cpu,avx2,0123,
`
	if err != nil || found != want {
		t.Errorf("%v\n%s%s", err, log, found)
	}
	several := filepath.Join(filepath.Dir(file), "all.toml")
	if err := os.WriteFile(several, []byte("sweeps = [\"search.toml\"]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{"exclude each other": {file, "-table"}, "leave out": {file, "-dry-run"},
		"holds no sweep": {file, "-out", t.TempDir()}, "prints one": {several}} {
		if _, _, err := swept(t, append(args, "-csv")...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %s", args, err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, trialsDir, "mle-003", "env.json"), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := swept(t, file, "-csv", "-out", folder); err == nil || !strings.Contains(err.Error(), "env.json: ") {
		t.Errorf("a broken env.json gives %v", err)
	}
}

// TestCSVOfHalving ranks those that went on to the last stage.
func TestCSVOfHalving(t *testing.T) {
	file, folder := searchText(t, "search = \"halving\"\nrungs = 2\nkeep = 2\ntrials = 4\n[keys]\n"+
		"train.learning_rate = {log = [0.001, 0.1]}"), filepath.Join(t.TempDir(), "sweep")
	if _, log, err := swept(t, file, "-out", folder); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	found, _, err := swept(t, file, "-csv", "-out", folder)
	lines := strings.Split(strings.TrimSpace(found), "\n")
	if err != nil || len(lines) != 5 {
		t.Fatalf("%v\n%s", err, found)
	}
	ranks := map[string]string{}
	for _, line := range lines[1:] {
		fields := strings.Split(line, ",")
		ranks[fields[6]] += fields[7] + " "
	}
	if ranks["1"] != "20 " || ranks["2"] != "20 " || ranks[""] != "10 10 " {
		t.Errorf("updates by rank %v\n%s", ranks, found)
	}
}

// TestCommittedTrials: trials.csv of each search that is kept is what its runs say.
func TestCommittedTrials(t *testing.T) {
	found, err := filepath.Glob("../../docs/results/*/trials.csv")
	if err != nil || len(found) < 2 {
		t.Fatal(found, err)
	}
	for _, path := range found {
		folder := filepath.Dir(path)
		committed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		made, _, err := swept(t, filepath.Join(folder, searchFile), "-csv", "-out", folder)
		if err != nil || made != string(committed) {
			t.Errorf("%v: %s is stale: write what `go run ./runs/sweep %s/%s -csv -out %[3]s` prints into it", err, path,
				strings.TrimPrefix(folder, "../../"), searchFile)
		}
	}
}

// TestCommittedPage: the tables of searches in evidence-multi30k.md are what the runs that are kept say.
func TestCommittedPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/results/evidence-multi30k.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"evidence-multi30k", "evidence-multi30k-bleu"} {
		folder := filepath.Join("../../docs/results", name)
		made, _, err := swept(t, filepath.Join(folder, searchFile), "-table", "-out", folder)
		if err != nil {
			t.Fatal(err)
		}
		table, _, _ := strings.Cut(made, "\n\n")
		if !strings.HasPrefix(table, "| method |") || !strings.Contains(string(page), "\n\n"+table+"\n\n") {
			t.Errorf("the table of %s in evidence-multi30k.md is stale: its command makes\n%s", name, table)
		}
	}
	tested := func(control string, seeds ...string) (bleu, loss []float64) {
		for _, seed := range seeds {
			r, err := record.Read("../../docs/results/evidence-multi30k-" + control + "/mle-seed" + seed)
			if err != nil {
				t.Fatal(err)
			}
			scores := r.Test["test_2016_flickr"]
			bleu, loss = append(bleu, scores.BLEU.Value()), append(loss, scores.NLL.Value())
		}
		return bleu, loss
	}
	for _, control := range []string{"quick", "long"} {
		bleu, loss := tested(control, "101", "102", "103", "104")
		says := fmt.Sprintf("%.2f ± %.2f BLEU, and a test loss of %.3f ± %.3f", stat.Mean(bleu, nil),
			stat.StdDev(bleu, nil), stat.Mean(loss, nil), stat.StdDev(loss, nil))
		if !strings.Contains(string(page), says) {
			t.Errorf("evidence-multi30k.md lacks %q of the control %s", says, control)
		}
	}
}
