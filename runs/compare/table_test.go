package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
)

// TestBold: the best mean is bold only where a test says that it is not the best by chance.
func TestBold(t *testing.T) {
	markdown := func(runs ...made) string {
		t.Helper()
		folder, corpus := t.TempDir(), corpusFolder(t)
		for _, m := range runs {
			makeRun(t, folder, corpus, m)
		}
		out, _, err := compared(t, folder, "-quick", "-control=mle")
		if err != nil {
			t.Fatal(err)
		}
		table, _, _ := strings.Cut(out, "\n\n")
		return table
	}
	seeds := func(method string, ppl ...float64) (all []made) {
		for i, x := range ppl {
			all = append(all, made{method: method, seed: i + 1, ppl: x, wrong: 20})
		}
		return all
	}
	both := func(a, b []made) []made { return append(a, b...) }
	for name, c := range map[string]struct {
		runs []made
		bold []string
	}{
		"better by chance": {both(seeds("mle", 10, 10.1, 10.2), seeds("spectrum", 9.9, 10.3, 9.8)), nil},
		"better on every seed": {both(seeds("mle", 10, 10.1, 10.2), seeds("spectrum", 9.5, 9.59, 9.71)),
			[]string{"**9.60 ± 0.11**"}},
		"the control is better": {both(seeds("mle", 10, 10.1, 10.2), seeds("spectrum", 10.5, 10.61, 10.7)),
			[]string{"**10.10 ± 0.10**"}},
		"better than one other only": {append(both(seeds("mle", 10, 10.1, 10.2),
			seeds("spectrum", 10.5, 10.61, 10.7)), seeds("cosreg", 10.1, 10.0, 10.3)...), nil},
		"one seed, of the same outputs": {both(seeds("mle", 10), seeds("spectrum", 9)), nil},
		"one seed, of other outputs": {[]made{{method: "mle", seed: 1, ppl: 10, wrong: 20},
			{method: "spectrum", seed: 1, ppl: 11, wrong: 2}}, nil},
	} {
		table := markdown(c.runs...)
		if strings.Count(table, "**") != 2*len(c.bold) {
			t.Errorf("%s:\n%s", name, table)
		}
		for _, want := range c.bold {
			if !strings.Contains(table, want) {
				t.Errorf("%s lacks %s:\n%s", name, want, table)
			}
		}
	}
}

// TestPower: the number of seeds goes by the spread of all rows together, and one seed each tells nothing of it.
func TestPower(t *testing.T) {
	out, _, err := compared(t, fewRuns(t), "-quick", "-power=0.5")
	if err != nil ||
		!strings.Contains(out, " seeds a row find a difference of 0.5 in 80 of 100 experiments (2, corrected;") {
		t.Errorf("%v:\n%s", err, out)
	}
	more := fewRuns(t)
	makeRun(t, more, corpusFolder(t), made{method: "adversarial", seed: 1, ppl: 9, wrong: 4,
		change: func(_ *experiment.Config, r map[string]any) { r["test"] = map[string]any{} }})
	if with, _, err := compared(t, more, "-quick", "-power=0.5"); err != nil || with != out {
		t.Errorf("beside a row without a test score: %v\n%s, want\n%s", err, with, out)
	}
	folder, corpus := t.TempDir(), corpusFolder(t)
	makeRun(t, folder, corpus, made{method: "mle", seed: 1, ppl: 10, wrong: 20})
	makeRun(t, folder, corpus, made{method: "spectrum", seed: 1, ppl: 9, wrong: 4})
	_, _, err = compared(t, folder, "-quick", "-power=0.5")
	if err == nil || !strings.Contains(err.Error(), "needs two seeds") {
		t.Errorf("one seed each gives %v", err)
	}
}

// TestNothingNearZero: where neither row translates, no test marks one as better, whatever p; the loss still counts.
func TestNothingNearZero(t *testing.T) {
	for _, bleu := range []float64{0.02, 20} {
		folder, corpus := t.TempDir(), corpusFolder(t)
		for seed := 1; seed <= 3; seed++ {
			for _, m := range []made{{method: "mle", ppl: 900}, {method: "spectrum", ppl: 800}} {
				gain := (900-m.ppl)*1e-4 + float64(seed)*1e-4
				m.seed, m.ppl = seed, m.ppl+float64(seed*seed)
				m.change = func(_ *experiment.Config, r map[string]any) {
					test := r["test"].(map[string]any)["test"].(map[string]any)
					test["bleu"], test["bleu_tok"], test["chrf"] = bleu*(1+gain), bleu*(1+gain), 3+gain
				}
				makeRun(t, folder, corpus, m)
			}
		}
		page := filepath.Join(t.TempDir(), "page.html")
		out, _, err := compared(t, folder, "-quick", "-out", page)
		if err != nil {
			t.Fatal(err)
		}
		table, notes, _ := strings.Cut(out, "\n\n")
		says := strings.Contains(notes, "neither translates yet")
		html, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(html), "<tr><th>test BLEU</th>")
		row, _, _ := strings.Cut(rest, "<th>test tokenised BLEU</th>")
		// The validation perplexity is bold in either case: four stars.
		if bleu < 1 && (strings.Count(table, "*") != 4 || strings.Contains(row, "*") || !says) {
			t.Errorf("BLEU near zero is marked:\n%s\n%s\n%s", table, notes, row)
		}
		if bleu > 1 && (!strings.Contains(table, "**20") || says || strings.Count(row, "*") != 1) { // of Holm's p alone
			t.Errorf("BLEU 20 is not marked:\n%s\n%s\n%s", table, notes, row)
		}
	}
}
