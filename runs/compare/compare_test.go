package main

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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
		other.Rows[2].Scores["valid.ppl"].T.Mean.Value()+want.Estimate > 1e-9 {
		t.Errorf("with another control: %s, %s", other.Rows[0].Name, other.Rows[2].Name)
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
		write(t, path, regexp.MustCompile(`(?m)^(optimizer|store|average_last|lowercase) = .*\n`).ReplaceAllString(string(text), ""))
	}
	c, _ := asJSON(t, folder, "-quick")
	if len(c.Rows) != 3 || len(c.Rows[0].Seeds) != 3 || len(c.Rows[2].Notes) != 0 {
		t.Errorf("the rows are %+v", c.Rows)
	}
}

// TestUnfair: what is not alike is told key by key.
func TestUnfair(t *testing.T) {
	c, _ := asJSON(t, fewRuns(t), "-quick")
	cosreg := c.Rows[1]
	notes := strings.Join(cosreg.Notes, "; ")
	for _, want := range []string{"train.learning_rate is 0.01 here and 0.0005 in mle", "its test.de is another text",
		"stopped after 90 updates, and mle after 100",
		"it has the seeds 1, 2, and mle the seeds 1, 2, 3", "commit fedcba987654 trained it",
		"it ran on true, AVX2, cpu, and mle on false, AVX2, cpu: their times do not compare"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q: %s", want, notes)
		}
	}
	if strings.Contains(notes, "gamma") || cosreg.Settings != "gamma = 3" {
		t.Errorf("the method's own keys: %q, notes %s", cosreg.Settings, notes)
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
}

// TestEvaluations: what runs/evaluate kept in the folders is compared over seeds, other settings are told unless the
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

// TestFormats: the table as Markdown, LaTeX and CSV.
func TestFormats(t *testing.T) {
	folder := fewRuns(t)
	markdown, _, err := compared(t, folder, "-quick")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| method | seeds | valid ppl | test BLEU | Δ | p, bootstrap | p, randomisation | " +
		"p, seeds | mean cosine | updates to best | seconds to best | seconds an update | cost | device memory |",
		"| mle | 3 | 10.20 ± 0.10 |", "| spectrum | 3 | **9.22 ± 0.11** |", "| 0.8000 | 1.00× | 300 MiB, 1.00× |",
		"| 1.3000 | 1.62× | 800 MiB, 2.67× |", " in test BLEU in 80 of 100 experiments",
		"Not alike: cosreg: train.learning_rate is 0.01", "<0.001*"} {
		if !strings.Contains(markdown, want) {
			t.Errorf("Markdown lacks %q:\n%s", want, markdown)
		}
	}
	latex, _, err := compared(t, folder, "-quick", "-latex")
	if err != nil || !strings.Contains(latex, `mle & 3 & 10.20 $\pm$ 0.10 &`) ||
		!strings.Contains(latex, `spectrum & 3 & \textbf{9.22 $\pm$ 0.11} &`) ||
		!strings.Contains(latex, `$<$0.001$^{*}$`) ||
		strings.ContainsAny(strings.Split(latex, `\end{tabular}`)[0], "±×Δ−–") {
		t.Errorf("LaTeX: %v\n%s", err, latex)
	}
	if program, err := exec.LookPath("pdflatex"); err == nil {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "table.tex"),
			"\\documentclass[landscape]{article}\\usepackage{booktabs}\\begin{document}\n"+latex+"\\end{document}\n")
		c := exec.Command(program, "-interaction=nonstopmode", "-halt-on-error", "table.tex")
		c.Dir = dir
		if said, err := c.CombinedOutput(); err != nil {
			t.Errorf("pdflatex: %v\n%s", err, said)
		}
	}
	text, _, err := compared(t, folder, "-quick", "-csv")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) < 40 {
		t.Fatalf("CSV: %v, %d lines", err, len(lines))
	}
	found := false
	for _, l := range lines {
		found = found || l[0] == "spectrum" && l[2] == "test.test.bleu" && l[3] == "3" && l[8] != ""
	}
	if !found {
		t.Errorf("CSV has no BLEU of spectrum:\n%s", text)
	}
}

// TestPage: the page needs no other file, and has the charts that folders without models allow.
func TestPage(t *testing.T) {
	folder := fewRuns(t)
	page := filepath.Join(t.TempDir(), "compare.html")
	if _, _, err := compared(t, folder, "-quick", "-out", page); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, want := range []string{"Validation perplexity by time", "Validation BLEU by update",
		"Singular values at equal Frobenius norm", "Cosine between two rows", "F1 of words by training frequency",
		"BLEU, seeds pooled", "train.learning_rate is 0.01 here"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(text, "uncommitted changes"); n != 1 {
		t.Errorf("the page tells of uncommitted changes %d times", n)
	}
	for _, bad := range []string{"ZgotmplZ", "NaN", "src=", "href=", "url("} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: the page is not opened in a browser")
	}
	// The script counts what the browser made of the page.
	opened := strings.Replace(text, "</body>",
		`<script>document.title = "charts " + document.querySelectorAll("svg.chart").length + " paths " + (document.querySelectorAll("svg path").length > 50)</script></body>`, 1)
	write(t, page, opened)
	out, err := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
		"file://"+page).Output()
	if err != nil || !strings.Contains(string(out), "<title>charts 15 paths true</title>") {
		title, _, _ := strings.Cut(string(out), "</title>")
		t.Errorf("the browser: %v, %s", err, title)
	}
}

// TestPictures: the charts of the page as files, which name their rows.
func TestPictures(t *testing.T) {
	folder, pictures := fewRuns(t), filepath.Join(t.TempDir(), "new", "pictures")
	if _, log, err := compared(t, folder, "-quick", "-pictures", pictures); err != nil ||
		!strings.Contains(log, "wrote 15 charts into "+pictures) {
		t.Fatalf("%v, %s", err, log)
	}
	found, err := filepath.Glob(filepath.Join(pictures, "*.svg"))
	if err != nil || len(found) != 15 {
		t.Fatalf("%v, %q", err, found)
	}
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err == nil {
			err = xml.Unmarshal(data, new(struct{}))
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	data, err := os.ReadFile(filepath.Join(pictures, "validation-perplexity-by-time.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{">mle</text>", ">cosreg</text>", ">spectrum</text>"} {
		if strings.Count(string(data), row) != 1 {
			t.Errorf("the legend lacks %s:\n%s", row, data)
		}
	}
	if _, _, err := compared(t, folder, "-quick", "-pictures",
		filepath.Join(pictures, filepath.Base(found[0]))); err == nil || !strings.Contains(err.Error(), ".svg") {
		t.Errorf("a file in place of the folder: %v", err)
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
		"broken results":   {[]string{broken, "-quick"}, "results.json", 1},
		"negative threads": {[]string{folder, "-threads=-1"}, "-threads=-1: it wants a whole number of at least 0", 2},
		"an unknown flag":  {[]string{folder, "-fast"}, "unknown flag", 2},
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
	if err != nil || !strings.Contains(out, " seeds a row find a difference of 0.5 in 80 of 100 experiments (2, corrected;") {
		t.Errorf("%v:\n%s", err, out)
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
		if bleu > 1 && (!strings.Contains(table, "**20") || says || !strings.Contains(row, "*")) {
			t.Errorf("BLEU 20 is not marked:\n%s\n%s\n%s", table, notes, row)
		}
	}
}
