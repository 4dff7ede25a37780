package main

import (
	"encoding/csv"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

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
