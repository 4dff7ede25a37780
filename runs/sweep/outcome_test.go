package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSigns: the lowest loss is the best, which lies far below 0 where targets are vectors, and the highest BLEU; the
// table shows either as it is.
func TestSigns(t *testing.T) {
	const lines = `methods = ["vmf"]
control = "vmf"
search = "grid"
seeds = 1
[keys]
train.learning_rate = [0.01, 0.001]`
	out := filepath.Join(t.TempDir(), "sweep")
	table, _, err := swept(t, searchText(t, lines), "-out", out)
	want := "| -197.9490 | train.learning_rate=0.001 | 1 | -197.9490 |"
	if err != nil || !strings.Contains(table, want) {
		t.Errorf("%v: the table lacks %q:\n%s", err, want, table)
	}
	for trial, bleu := range map[string]float64{"vmf-001": 31.5, "vmf-002": 30} {
		record := fmt.Appendf(nil, "{\"step\": 20, \"epoch\": 1, \"split\": \"valid\", \"bleu\": %g}\n", bleu)
		if err := os.WriteFile(filepath.Join(out, trialsDir, trial, "metrics.jsonl"), record, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	byBLEU := searchText(t, `score = "bleu"`, lines)
	_, _, err = swept(t, byBLEU, "-out", out, "-table")
	if err == nil || !strings.Contains(err.Error(), "changes score") {
		t.Errorf("another file than the sweep's: %v", err)
	}
	text, err := os.ReadFile(byBLEU)
	if err == nil {
		err = os.WriteFile(filepath.Join(out, searchFile), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	table, _, err = swept(t, byBLEU, "-out", out, "-table")
	if want = "| 31.5000 | train.learning_rate=0.01 |"; err != nil || !strings.Contains(table, want) {
		t.Errorf("%v: the table lacks %q:\n%s", err, want, table)
	}
}

// TestLookAtAgain: a run folder is read again where one of its files has changed or a link leads to another folder, and
// only there.
func TestLookAtAgain(t *testing.T) {
	w := &sweep{}
	folder := t.TempDir()
	link := filepath.Join(folder, "link")
	ran := func(run string, loss float64, at int64) {
		if err := os.MkdirAll(filepath.Join(folder, run), 0o777); err != nil {
			t.Fatal(err)
		}
		results := fmt.Sprintf("{\"valid\": {\"nll\": %g}}", loss)
		for name, text := range map[string]string{"config.toml": "", "results.json": results} {
			path := filepath.Join(folder, run, name)
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, time.Unix(at, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	says := func(what string, want float64) {
		t.Helper()
		if o, err := w.lookAt(link); err != nil || o.loss != want {
			t.Errorf("%s: the loss is %v (%v), want %v", what, o.loss, err, want)
		}
	}
	leads := func(to string) {
		os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	ran("one", 1.5, 1000)
	ran("two", 3.5, 1000)
	leads("one")
	says("at first", 1.5)
	ran("one", 2.5, 1000)
	says("read for nothing", 1.5)
	ran("one", 2.5, 1001)
	says("with another time", 2.5)
	ran("one", 2.25, 1001)
	says("with another size", 2.25)
	ran("one", 1.5, 1000)
	says("as at first", 1.5)
	leads("two")
	says("another folder", 3.5)
	if err := os.WriteFile(filepath.Join(folder, "two", failedFile), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if o, err := w.lookAt(link); err != nil || o.finished {
		t.Errorf("one that failed since: %v, %v", o, err)
	}
}
