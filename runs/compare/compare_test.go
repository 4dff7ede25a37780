package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/aperture-ml/aperture/runs/compare/significance"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/tokenize/score"
)

func asJSON(t *testing.T, args ...string) (c jsonComparison, log string) {
	t.Helper()
	out, log, err := compared(t, append(args, "-json")...)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	return c, log
}

// TestRows: runs that differ in the seed alone are one row, with mean, deviation, range and a paired test against the
// control.
func TestRows(t *testing.T) {
	folder := fewRuns(t)
	c, _ := asJSON(t, folder, "-quick")
	if c.Control != "mle" || len(c.Rows) != 3 || c.Rows[0].Name != "mle" || len(c.Rows[0].Seeds) != 3 {
		t.Fatalf("the rows are %+v", c.Rows)
	}
	spectrum := c.Rows[2]
	if spectrum.Name != "spectrum" || len(spectrum.Notes) != 0 {
		t.Errorf("the last row is %+v", spectrum)
	}
	s := spectrum.Scores["valid.ppl"]
	values := []float64{9 + 1.0/9, 9 + 2.0/9, 9 + 3.0/9}
	other := c.Rows[1].Scores["valid.ppl"]
	fit := significance.Linear([][]float64{{10.1, 10.2, 10.3},
		{other.Values[0].Value(), other.Values[1].Value(), math.NaN()}, values}, 0, 0.05)
	want := fit.Contrasts[2]
	for name, x := range map[string][2]float64{"mean": {s.Mean.Value(), values[1]},
		"deviation": {s.Deviation.Value(), 1.0 / 9}, "smallest": {s.Low.Value(), values[0]},
		"largest": {s.High.Value(), values[2]}, "difference": {s.T.Mean.Value(), want.Estimate},
		"p": {s.T.P.Value(), want.P}, "its interval": {s.T.Low.Value(), want.Low},
		"corrected p": {s.T.Holm.Value(), significance.Holm([]float64{fit.Contrasts[1].P, want.P})[1]}} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, x[0], x[1])
		}
	}
	// What these seeds can see goes by the spread of all rows; cosreg has two seeds, and so sees less.
	if x, wanted := s.T.Detectable.Value(), significance.Detectable(want.Error, want.Freedom, 0.025, 0.8); math.Abs(x-wanted) > 1e-9 ||
		!(other.T.Detectable.Value() > x) {
		t.Errorf("three seeds detect %v, want %v; two detect %v", x, wanted, other.T.Detectable.Value())
	}
	if x := spectrum.Scores["best.seconds"].Mean.Value(); x != 41.5 {
		t.Errorf("seconds to best: %v", x)
	}
	if other, _ := asJSON(t, folder, "-quick", "-control=spectrum"); other.Rows[0].Name != "spectrum" ||
		math.Abs(other.Rows[2].Scores["valid.ppl"].T.Mean.Value()+want.Estimate) > 1e-9 {
		t.Errorf("with another control: %s, %s", other.Rows[0].Name, other.Rows[2].Name)
	}
}

// TestPlaces: seeds of one row may have trained on devices of their own, with texts and first weights in places of
// their own; a run that starts from another one is none of a row that does not.
func TestPlaces(t *testing.T) {
	folder, corpus := filepath.Join(t.TempDir(), "[old] a*"), corpusFolder(t)
	for seed := 1; seed <= 3; seed++ {
		for i, method := range []string{"mle", "spectrum", "mle"} {
			makeRun(t, folder, corpus, made{method: method, seed: seed, ppl: 10 + float64(seed)/10 + float64(i), wrong: 20,
				change: func(c *experiment.Config, _ map[string]any) {
					c.Data.Store, c.Train.Device = fmt.Sprint("/store/", seed), fmt.Sprint("cuda:", seed)
					if i == 2 {
						c.Train.Init = fmt.Sprint("/runs/", seed)
					}
				}})
		}
	}
	c, _ := asJSON(t, folder, "-quick")
	if len(c.Rows) != 3 {
		t.Fatalf("the rows are %+v", c.Rows)
	}
	for _, r := range c.Rows {
		if len(r.Seeds) != 3 {
			t.Errorf("the row %s has the seeds %v", r.Name, r.Seeds)
		}
	}
}

// TestOlder: a run of a program without some keys had their defaults, and is a seed of the same row.
func TestOlder(t *testing.T) {
	folder := fewRuns(t)
	found, err := filepath.Glob(filepath.Join(folder, "*-2-*", "config.toml"))
	if err != nil || len(found) != 3 {
		t.Fatal(found, err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, regexp.MustCompile(`(?m)^(optimizer|store|average_last|lowercase) = .*\n`).ReplaceAllString(
			string(text), ""))
	}
	c, _ := asJSON(t, folder, "-quick")
	if len(c.Rows) != 3 || len(c.Rows[0].Seeds) != 3 || len(c.Rows[2].Notes) != 0 {
		t.Errorf("the rows are %+v", c.Rows)
	}
}

// gone is a pipe whose reader has gone.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestSavesBeforeItShows: the page and the pictures are there when nobody reads what is shown.
func TestSavesBeforeItShows(t *testing.T) {
	folder := t.TempDir()
	page, pictures := filepath.Join(folder, "page.html"), filepath.Join(folder, "pictures")
	f, err := parse([]string{fewRuns(t), "-quick", "-out", page, "-pictures", pictures}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(f, gone{}, io.Discard); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("nobody read it: %v", err)
	}
	drawn, err := filepath.Glob(filepath.Join(pictures, "*"))
	if _, missing := os.Stat(page); missing != nil || len(drawn) == 0 || err != nil {
		t.Errorf("%v, %d pictures, %v", missing, len(drawn), err)
	}
}

// TestUnfair: what is not alike is named key by key.
func TestUnfair(t *testing.T) {
	c, _ := asJSON(t, fewRuns(t), "-quick")
	cosreg := c.Rows[1]
	notes := strings.Join(cosreg.Notes, "; ")
	for _, want := range []string{"train.learning_rate is 0.01 here and 0.0005 in mle", "its test.de is another text",
		"stopped after 90 updates, and mle after 100",
		"it has the seeds 1, 2, and mle the seeds 1, 2, 3: tests over seeds use all, other tests those of both",
		"it read valid.de, and mle did not", "commit fedcba987654 trained it",
		"it ran on true, AVX2, cpu, and mle on false, AVX2, cpu (seed 1, 2): their times do not compare"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q: %s", want, notes)
		}
	}
	out, log, err := compared(t, "-csv", "-quick", fewRuns(t))
	if err != nil || !strings.Contains(log, "Not alike: cosreg: train.learning_rate is 0.01 here") ||
		!strings.Contains(out, "cosreg,cosreg,test.test.f1.5-9,2,0.5,") {
		t.Errorf("-csv: %v, %s\n%s", err, log, out)
	}
	for _, form := range []string{"-latex", "-isotropy", "-power=1"} {
		out, log, err := compared(t, form, "-quick", fewRuns(t))
		says := strings.Count(out+log, "Not alike: cosreg: train.learning_rate is 0.01 here")
		if err != nil || says != 1 {
			t.Errorf("%s says it %d times: %v\n%s\n%s", form, says, err, out, log)
		}
	}
	if strings.Contains(notes, "gamma") || cosreg.Settings != "gamma = 3" {
		t.Errorf("the method's own keys: %q, notes %s", cosreg.Settings, notes)
	}
	want := "Trained by commit 0123456789ab (6 runs); fedcba987654 (2 runs), on false, AVX2, cpu (6 runs); true, AVX2, " +
		"cpu (2 runs). Texts, by the first digits of their SHA-256: test.de aa, test.de bb, valid.de cc."
	if c.Origin != want {
		t.Errorf("the origin is %q, want %q", c.Origin, want)
	}
	if want := "Code with uncommitted changes in a.go trained cosreg (seed 1, 2)."; c.Uncommitted != want {
		t.Errorf("of the code it says %q, want %q", c.Uncommitted, want)
	}
}

// TestTranslations: the tests of each seed are those of its two outputs, and with one seed the pooled test is that one.
func TestTranslations(t *testing.T) {
	folder := fewRuns(t)
	c, _ := asJSON(t, folder, "-quick")
	test := c.Rows[2].Tests["test"]
	if test.BLEU == nil || len(test.Each) != 3 || test.BLEU.Segments != 40 {
		t.Fatalf("the tests are %+v", test)
	}
	outputs := func(method string) score.Counted {
		found, err := filepath.Glob(filepath.Join(folder, method+"-1-*", "samples", "test.de"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		counted, err := score.Count(score.BLEUOptions{}, strings.Split(strings.TrimSpace(string(text)), "\n"),
			[][]string{references()})
		if err != nil {
			t.Fatal(err)
		}
		return counted
	}
	want := significance.Bootstrap(outputs("mle"), outputs("spectrum"), 0, 0)
	if e := test.Each[0]; e.P.Value() != want.P || e.Low.Value() != want.Low ||
		e.Control.Value() != want.Baseline.Score || e.Randomisation.Value() > 0.01 {
		t.Errorf("seed 1: %+v, want %+v", e, want)
	}
	if p := test.BLEU.Holm.Value(); p != 2*test.BLEU.P.Value() {
		t.Errorf("corrected for two methods p is %v of %v", p, test.BLEU.P.Value())
	}
	if same := c.Rows[1].Tests["test"].BLEU; same.P.Value() != 1 || same.Randomisation.Value() != 1 {
		t.Errorf("the same translations: %+v", same)
	}
	// Outputs that are not those of results.json any more are not tested.
	path, _ := filepath.Glob(filepath.Join(folder, "spectrum-1-*", "samples", "test.de"))
	write(t, path[0], strings.Repeat("something else\n", 40))
	c, log := asJSON(t, folder, "-quick")
	if len(c.Rows[2].Tests["test"].Each) != 2 || !strings.Contains(log, "have changed") {
		t.Errorf("%d seeds are tested, and the log says %s", len(c.Rows[2].Tests["test"].Each), log)
	}
	write(t, path[0], strings.Repeat("something else\n", 39))
	c, log = asJSON(t, folder, "-quick")
	if len(c.Rows[2].Tests["test"].Each) != 2 || !strings.Contains(log, "40 lines and the hypotheses have 39") {
		t.Errorf("%d seeds are tested, and the log says %s", len(c.Rows[2].Tests["test"].Each), log)
	}
}

// TestDamagedEnvironment: an env.json that is none is an error that names it, and one that is gone leaves the machine
// unknown.
func TestDamagedEnvironment(t *testing.T) {
	folder := fewRuns(t)
	found, err := filepath.Glob(filepath.Join(folder, "*", "env.json"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	write(t, found[0], "{")
	if _, _, err := compared(t, folder, "-quick"); err == nil || !strings.Contains(err.Error(), found[0]) ||
		!strings.Contains(err.Error(), "put the run's own file back, or remove it") {
		t.Errorf("a damaged file gives %v", err)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	if _, _, err := compared(t, folder, "-quick"); err != nil {
		t.Errorf("without the file it gives %v", err)
	}
}

// TestReferencesAreGone: a run whose references are gone is named once, whatever it is compared with, with the folder
// that they were in.
func TestReferencesAreGone(t *testing.T) {
	folder, corpus := t.TempDir(), corpusFolder(t)
	for _, method := range []string{"mle", "cosreg", "spectrum"} {
		makeRun(t, folder, corpus, made{method: method, seed: 1, ppl: 5, wrong: 20})
	}
	if err := os.RemoveAll(corpus); err != nil {
		t.Fatal(err)
	}
	c, log := asJSON(t, folder, "-quick")
	said := "test: its references are gone: there is no folder " + corpus + ": data.dir in the run's config.toml names it"
	if strings.Count(log, said) != 3 || strings.Count(log, "\n") != 3 || strings.Contains(log, "-data") {
		t.Errorf("the log says\n%s", log)
	}
	for _, r := range c.Rows[1:] {
		if test := r.Tests["test"]; test.BLEU != nil {
			t.Errorf("%s is tested: %+v", r.Name, test)
		}
	}
}

// TestEvaluations: what runs/evaluate kept in the folders is compared over seeds, other settings are named unless the
// validation text chose them, and what was measured before results.json changed is left out.
func TestEvaluations(t *testing.T) {
	folder := fewRuns(t)
	keep := func(name, with string, ppl, rate float64, searched ...string) {
		e := record.Evaluation{With: with, Settings: map[string]any{"rate": rate}, Searched: searched,
			Valid: record.TextScores{PPL: record.Num(ppl)},
			Test:  map[string]record.TextScores{"test": {NLL: record.Num(math.Log(ppl)), PPL: record.Num(ppl)}}}
		if _, err := e.Save(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range names {
		name := filepath.Base(path)
		method, rest, _ := strings.Cut(name, "-")
		seed := float64(rest[0] - '0')
		keep(name, "cache", map[string]float64{"mle": 8, "spectrum": 7, "cosreg": 9}[method]+seed/10, seed, "rate")
		keep(name, "dynamic", 6, map[string]float64{"mle": 0.1, "spectrum": 0.2, "cosreg": 0.1}[method])
	}
	out, _, err := compared(t, folder, "-quick")
	if err != nil || !strings.Contains(out, "| test ppl, cache | Δ | p, seeds |") ||
		!strings.Contains(out, "| **7.20 ± 0.10** | −1.00 | <0.001* |") {
		t.Errorf("%v:\n%s", err, out)
	}
	if !strings.Contains(out, "Not alike: spectrum: seed 1 was evaluated -with=dynamic with rate 0.2, and mle with "+
		"rate 0.1.") || strings.Contains(out, "-with=cache") {
		t.Errorf("which settings are not alike:\n%s", out)
	}
	c, _ := asJSON(t, folder, "-quick")
	for _, r := range c.Rows {
		if r.Method == "spectrum" {
			if s := r.Scores["valid.cache.ppl"]; math.Abs(s.Mean.Value()-7.2) > 1e-9 || s.T == nil ||
				math.Abs(s.T.Mean.Value()+1) > 1e-9 {
				t.Errorf("valid.cache.ppl: %+v", s)
			}
		}
	}

	results := filepath.Join(names[0], "results.json")
	text, err := os.ReadFile(results)
	if err != nil {
		t.Fatal(err)
	}
	write(t, results, string(text)+"\n")
	write(t, filepath.Join(names[1], "evaluation-cache.json"), "{")
	_, log, err := compared(t, folder, "-quick")
	if err != nil || strings.Count(log, "was measured before results.json changed: make it anew") != 2 ||
		!strings.Contains(log, filepath.Join(names[1], "evaluation-cache.json")+": unexpected end") {
		t.Errorf("stale and broken evaluations: %v\n%s", err, log)
	}
}

// TestRefusals: bad input is one sentence.
func TestRefusals(t *testing.T) {
	folder := fewRuns(t)
	empty := t.TempDir()
	unfinished := filepath.Join(t.TempDir(), "run")
	write(t, filepath.Join(unfinished, "config.toml"), "run = \"wmt14\"\n")
	twice := t.TempDir()
	corpus := corpusFolder(t)
	makeRun(t, twice, corpus, made{method: "mle", seed: 1, ppl: 3})
	makeRun(t, twice, corpus, made{method: "mle", seed: 1, ppl: 4})
	broken := makeRun(t, t.TempDir(), corpus, made{method: "mle", seed: 1, ppl: 3})
	write(t, filepath.Join(broken, "results.json"), "{")
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"nothing":          {nil, "nothing to compare", 2},
		"two formats":      {[]string{folder, "-json", "-csv"}, "exclude each other", 2},
		"no such folder":   {[]string{filepath.Join(folder, "nowhere")}, "there is no folder", 1},
		"no run":           {[]string{empty}, "holds no run", 1},
		"unfinished":       {[]string{unfinished}, "none of these runs has finished", 1},
		"another control":  {[]string{folder, "-quick", "-control=mos"}, "the rows are", 2},
		"the same run":     {[]string{twice, "-quick"}, "the same run twice", 1},
		"broken results":   {[]string{broken, "-quick"}, "results.json: unexpected end of JSON input: the file is damaged; delete it", 1},
		"negative threads": {[]string{folder, "-threads=-1"}, "-threads=-1: it wants a whole number of at least 0", 2},
		"a page into results": {[]string{folder, "-out=" + filepath.Join(folder, "results.json")},
			"a page there, whose name ends in .html", 2},
		"a picture into scores": {[]string{"-forest", "all.csv", "more.csv"},
			"a picture there, whose name ends in .svg", 2},
		"an unknown flag": {[]string{folder, "-fast"}, "unknown flag", 2},
	} {
		_, _, err := compared(t, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) || command.ExitCode(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A folder without its checkpoint takes part by its scores, and says so.
	if out, log, err := compared(t, folder); err != nil || !strings.Contains(log, "takes part by its scores only") ||
		!strings.Contains(out, "| spectrum | 3 |") {
		t.Errorf("without models: %v, %s", err, log)
	}
}

// TestNames: rows of one method are told apart by the keys in which they differ.
func TestNames(t *testing.T) {
	folder, corpus := t.TempDir(), corpusFolder(t)
	for _, gamma := range []float64{1, 2} {
		makeRun(t, folder, corpus, made{method: "cosreg", seed: 1, ppl: 3 + gamma,
			change: func(c *experiment.Config, _ map[string]any) { c.Objective.Set("gamma", gamma) }})
	}
	c, _ := asJSON(t, folder, "-quick", "-control=cosreg gamma=2")
	if c.Rows[0].Name != "cosreg gamma=2" || c.Rows[1].Name != "cosreg gamma=1" {
		t.Errorf("the rows are %q and %q", c.Rows[0].Name, c.Rows[1].Name)
	}
}

// TestProgramNames: rows of several programs are called by them too, and not by keys that differ between programs.
func TestProgramNames(t *testing.T) {
	folder, texts := t.TempDir(), corpusFolder(t)
	run := func(program string) func(c *experiment.Config, r map[string]any) {
		return func(c *experiment.Config, r map[string]any) {
			r["run"] = program
			if program == "ptb" {
				c.Train.MaxTokens = 9
			}
		}
	}
	names := func() string {
		c, _ := asJSON(t, folder, "-quick")
		var all []string
		for _, r := range c.Rows {
			all = append(all, r.Name)
		}
		return strings.Join(all, ", ")
	}
	makeRun(t, folder, texts, made{method: "mle", seed: 1, ppl: 10, wrong: 20, change: run("multi30k")})
	if got := names(); got != "mle" {
		t.Errorf("one row is called %q", got)
	}
	makeRun(t, folder, texts, made{method: "mle", seed: 2, ppl: 10, wrong: 20, change: run("ptb")})
	if got := names(); got != "mle on multi30k, mle on ptb" {
		t.Errorf("rows of two programs are called %q", got)
	}
	makeRun(t, folder, texts, made{method: "mle", seed: 3, ppl: 10, wrong: 20,
		change: func(c *experiment.Config, r map[string]any) { c.Train.LearningRate = 0.5 }})
	if got := names(); got != "mle on multi30k learning_rate=0.0005, mle on ptb, mle on multi30k learning_rate=0.5" {
		t.Errorf("rows of two settings and two programs are called %q", got)
	}
}

// TestDensities: the loss of a density is not set against that of a probability; BLEU is.
func TestDensities(t *testing.T) {
	folder, corpus := t.TempDir(), corpusFolder(t)
	makeRun(t, folder, corpus, made{method: "mle", seed: 1, ppl: 3, wrong: 8})
	makeRun(t, folder, corpus, made{method: "vmf", seed: 1, ppl: 4, wrong: 20,
		change: func(_ *experiment.Config, r map[string]any) {
			r["valid"] = map[string]any{"nll": -400.0, "ppl": nil}
			test := r["test"].(map[string]any)["test"].(map[string]any)
			test["nll"], test["ppl"] = -390.0, nil
		}})
	c, _ := asJSON(t, folder, "-quick")
	vmf := c.Rows[1].Scores
	if vmf["valid.nll"].T != nil || vmf["test.test.nll"].T != nil || vmf["test.test.bleu"].T == nil {
		t.Errorf("differences: %+v, %+v, %+v", vmf["valid.nll"].T, vmf["test.test.nll"].T, vmf["test.test.bleu"].T)
	}
}
