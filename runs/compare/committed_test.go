package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/compare/significance"
)

// TestCommittedTables: differences, p over seeds and intervals of the committed pages are what the linear model makes
// of the scores in the all.csv beside them.
func TestCommittedTables(t *testing.T) {
	const results = "../../docs/results"
	for _, page := range []struct {
		name     string
		measures []string // of the columns "Δ" and "p, seeds", in order
		digits   int
	}{
		{"multi30k", []string{"test.test_2016_flickr.bleu"}, 2},
		{"ptb", []string{"test.ptb.test.ppl", "test.ptb.test.dynamic.ppl"}, 2},
	} {
		file, err := os.Open(filepath.Join(results, page.name, "all.csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		lines, err := csv.NewReader(file).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(results, page.name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		table, intervals := tableWith(t, string(text), "p, seeds"), tableWith(t, string(text), "not corrected")
		for i, measure := range page.measures {
			var methods []string
			var scores [][]float64
			for _, line := range lines {
				if line[2] != measure {
					continue
				}
				var values []float64
				for _, field := range strings.Fields(line[len(line)-1]) {
					x, err := strconv.ParseFloat(field, 64)
					if err != nil {
						t.Fatal(err)
					}
					values = append(values, x)
				}
				methods, scores = append(methods, line[1]), append(scores, values)
			}
			fit := significance.Linear(scores, slices.Index(methods, "mle"), 0.05)
			ps := make([]float64, len(methods))
			for k, c := range fit.Contrasts {
				ps[k] = c.P
			}
			for k, p := range significance.Holm(ps) {
				if methods[k] == "mle" {
					continue
				}
				c := fit.Contrasts[k]
				within := signed(c.Low, page.digits) + " to " + signed(c.High, page.digits)
				for _, want := range []struct{ column, value, is string }{
					{"Δ", signed(c.Estimate, page.digits), table.cell(t, methods[k], "Δ", i)},
					{"p, seeds", pText(p), table.cell(t, methods[k], "p, seeds", i)},
					{"95 % of Δ", within, intervals.cell(t, methods[k], "95 % of Δ", i)},
				} {
					if want.value != want.is {
						t.Errorf("%s.md, %s, %s of %s: %s, want %s", page.name, methods[k], want.column, measure,
							want.is, want.value)
					}
				}
			}
		}
	}
}

// cells are a Markdown table, its header first.
type cells [][]string

// tableWith is the first table whose header holds a text.
func tableWith(t *testing.T, page, part string) (table cells) {
	t.Helper()
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			if table != nil {
				return table
			}
			continue
		}
		if table != nil || strings.Contains(line, part) {
			row := strings.Split(strings.Trim(line, "|\n"), "|")
			for i := range row {
				row[i] = strings.TrimSpace(row[i])
			}
			table = append(table, row)
		}
	}
	if table == nil {
		t.Fatalf("no table has %q in its header", part)
	}
	return table
}

// cell is what a method has in the n-th column whose title begins so.
func (c cells) cell(t *testing.T, method, title string, n int) string {
	t.Helper()
	for at, head := range c[0] {
		if !strings.HasPrefix(head, title) {
			continue
		}
		if n > 0 {
			n--
			continue
		}
		for _, row := range c[1:] {
			if row[0] == method {
				return row[at]
			}
		}
	}
	t.Fatalf("no %s of %s", title, method)
	return ""
}
