package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"html/template"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/chart"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
)

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
		"Not alike: cosreg: train.learning_rate is 0.01", "\n\nTrained by commit 0123456789ab (6 runs); ", "<0.001*"} {
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
	t.Run("pdflatex", func(t *testing.T) {
		program, err := exec.LookPath("pdflatex")
		if err != nil {
			t.Skip("pdflatex is not installed")
		}
		dir := t.TempDir()
		write(t, filepath.Join(dir, "table.tex"),
			"\\documentclass[landscape]{article}\\usepackage{booktabs}\\begin{document}\n"+latex+"\\end{document}\n")
		c := exec.Command(program, "-interaction=nonstopmode", "-halt-on-error", "table.tex")
		c.Dir = dir
		if said, err := c.CombinedOutput(); err != nil {
			t.Errorf("pdflatex: %v\n%s", err, said)
		}
	})
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

// TestScoresBySeed: -csv gives scores by seed, and -forest and -claims read them so, where rows have other seeds.
func TestScoresBySeed(t *testing.T) {
	folder, corpus := t.TempDir(), corpusFolder(t)
	for seed := 1; seed <= 4; seed++ {
		ppl := 10 + float64(seed*seed)/10
		if seed < 4 {
			makeRun(t, folder, corpus, made{method: "mle", seed: seed, ppl: ppl, wrong: 20})
		}
		if seed > 1 {
			makeRun(t, folder, corpus, made{method: "cosreg", seed: seed, ppl: ppl - 1, wrong: 20})
		}
	}
	text, _, err := compared(t, folder, "-quick", "-csv")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "all.csv")
	write(t, path, text)
	lines, _ := csv.NewReader(strings.NewReader(text)).ReadAll()
	all, err := readScores(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.measure != "test.test.nll" {
			continue
		}
		if !math.IsNaN(s.values[0][3]) || !math.IsNaN(s.values[1][0]) || len(s.values[0]) != 4 {
			t.Errorf("scores by seed are %v", s.values)
		}
		fit, _ := s.against("mle")
		for _, l := range lines {
			if l[0] == "cosreg" && l[2] == s.measure && l[8] != strconv.FormatFloat(fit.Contrasts[1].Estimate, 'g', -1, 64) {
				t.Errorf("-csv says a difference of %s, and the scores in it one of %v", l[8], fit.Contrasts[1].Estimate)
			}
		}
		return
	}
	t.Error("there is no loss of the test")
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
	for _, once := range []string{"uncommitted changes", "Trained by commit"} {
		if n := strings.Count(text, once); n != 1 {
			t.Errorf("the page tells of %q %d times", once, n)
		}
	}
	for _, bad := range []string{"ZgotmplZ", "NaN", "src=", "href=", "url("} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	const charts = 18
	if n := strings.Count(text, `<svg class="chart"`); n != charts {
		t.Errorf("the page holds %d charts, not %d", n, charts)
	}
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: the page is not opened in a browser")
	}
	dump := func() (string, error) {
		out, err := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
			"file://"+page).Output()
		return string(out), err
	}
	// The page's own script, which its policy lets run, names what is drawn.
	if out, err := dump(); err != nil || !strings.Contains(out, "<title>mle</title>") {
		t.Errorf("the browser: %v, the page's script did not run", err)
	}
	// The script counts what the browser made of the page.
	opened := strings.Replace(strings.Replace(text, "Content-Security-Policy", "none", 1), "</body>",
		`<script>document.title = "charts " + document.querySelectorAll("svg.chart").length + " paths " + (document.querySelectorAll("svg path").length > 50)</script></body>`, 1)
	write(t, page, opened)
	if out, err := dump(); err != nil || !strings.Contains(out, fmt.Sprintf("<title>charts %d paths true</title>", charts)) {
		title, _, _ := strings.Cut(out, "</title>")
		t.Errorf("the browser: %v, %s", err, title)
	}
}

// TestHostilePage: names and settings of run folders are text on the page and in its pictures, wherever they stand;
// only the page's own script may run.
func TestHostilePage(t *testing.T) {
	const bad = `</title></text></style><script>alert(1)</script><img src=x onerror=alert(1)>"'` + "\x1b[2J"
	folder, corpus := t.TempDir(), corpusFolder(t)
	for seed := 1; seed <= 2; seed++ {
		for _, method := range []string{"mle", "spectrum"} {
			run := makeRun(t, folder, corpus, made{method: method, seed: seed, ppl: 9 + float64(seed), wrong: 4,
				change: func(c *experiment.Config, r map[string]any) {
					r["run"], r["preset"], r["checkpoint"] = bad, bad, bad
					r["method"] = method + bad
					r["code"] = map[string]any{"commit": bad, "dirty": true}
					r["test"].(map[string]any)["more"+bad] = r["test"].(map[string]any)["test"]
					if method == "spectrum" {
						c.Data.Name = bad[:len(bad)-4]
					}
				}})
			text, err := os.ReadFile(filepath.Join(run, "env.json"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(run, "env.json"), strings.Replace(string(text), "a.go", "<script>alert(1)</script>", 1))
		}
	}
	page := filepath.Join(t.TempDir(), "compare.html")
	if _, _, err := compared(t, folder, "-quick", "-out", page); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	_, script, _ := strings.Cut(text, "<script>")
	script, _, _ = strings.Cut(script, "</script>")
	sum := sha256.Sum256([]byte(script))
	if want := "script-src &#39;sha256-" + template.HTMLEscapeString(base64.StdEncoding.EncodeToString(sum[:])) +
		"&#39;"; !strings.Contains(strings.ReplaceAll(text, "&#43;", "+"), strings.ReplaceAll(want, "&#43;", "+")) {
		t.Errorf("the policy of the page does not let its script run: %s", want)
	}
	if n := strings.Count(text, "<script"); n != 1 || strings.Contains(text, "<img") || strings.Contains(text, "\x1b") {
		at := strings.IndexAny(text, "\x1b")
		t.Errorf("the page has %d scripts, an image, or a control character: %q", n, text[max(at-200, 0):at+20])
	}
	for _, picture := range strings.SplitAfter(text, "</svg>") {
		if _, svg, found := strings.Cut(picture, "<svg"); found {
			if err := xml.Unmarshal([]byte("<svg"+svg), new(struct{})); err != nil {
				t.Errorf("a picture is no XML: %v", err)
			}
		}
	}
}

// TestPictures: the charts of the page as files, which name their rows.
func TestPictures(t *testing.T) {
	folder, pictures := fewRuns(t), filepath.Join(t.TempDir(), "new", "pictures")
	if _, log, err := compared(t, folder, "-quick", "-pictures", pictures); err != nil ||
		!strings.Contains(log, "wrote 18 charts into "+pictures) {
		t.Fatalf("%v, %s", err, log)
	}
	found, err := filepath.Glob(filepath.Join(pictures, "*.svg"))
	if err != nil || len(found) != 18 {
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
	if !strings.Contains(string(data), "bands: their range") {
		t.Errorf("the picture does not say what its bands are:\n%s", data)
	}
	less, err := os.ReadFile(filepath.Join(pictures, "validation-bleu-less-that-of-mle-with-the-same-seed.svg"))
	if err != nil || !strings.Contains(string(less), chart.CSS(chart.Hue(methodHue("spectrum")))) {
		t.Errorf("%v: no line of spectrum in its colour:\n%s", err, less)
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
