package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/compare/significance"
	"github.com/aperture-ml/aperture/runs/internal/chart"
	"github.com/aperture-ml/aperture/runs/internal/report"
)

//go:embed page.html
var pageText string

//go:embed page.js
var pageScript string

var pageTemplate = template.Must(template.Must(report.Shared.Clone()).New("page").Funcs(template.FuncMap{
	// The chart escapes its texts itself.
	"inline": func(c *chart.Chart) template.HTML { return template.HTML(c.SVG()) },
}).Parse(pageText))

// pageData is what page.html shows.
type pageData struct {
	Title              string
	Changes            string // that are in no commit
	Rows               []pageRow
	Short, Tests, Full report.Table
	Footnote, Origin   string
	Sections           []section
}

// Head is what template "head" needs of a page.
func (d pageData) Head() report.Head {
	return report.Head{Title: d.Title, Script: template.JS(pageScript)}
}

// pageRow is a row in the legend and in the list of runs.
type pageRow struct {
	Name, Colour string
	Control      bool
	Settings     string
	Notes        []string
	Runs         report.Table
}

// section are charts of one kind.
type section struct {
	Title, Note string
	Charts      []*chart.Chart
}

// page writes a page of HTML that needs no other file.
func (c *comparison) page(w io.Writer) error {
	d := pageData{
		Title:   fmt.Sprintf("%s: %d methods compared", c.control().runs[0].results.Run, len(c.rows)),
		Changes: c.uncommitted(), Short: c.table(), Tests: c.testTable(), Full: c.fullTable(), Footnote: c.footnote(),
		Origin: c.origin(), Sections: c.sections(),
	}
	for k, r := range c.rows {
		row := pageRow{Name: r.name, Colour: chart.CSS(chart.Hue(r.hue)), Control: k == 0,
			Settings: r.settings(c.control()), Notes: r.notes}
		row.Runs.Head = []string{"seed", "folder", "commit", "updates"}
		for _, t := range r.runs {
			commit := fmt.Sprintf("%.12s", cmp.Or(string(t.results.Code.Commit), "unknown"))
			row.Runs.Rows = append(row.Runs.Rows,
				[]string{fmt.Sprint(t.results.Seed), t.folder, commit, fmt.Sprint(t.results.Updates)})
		}
		d.Rows = append(d.Rows, row)
	}
	return report.Execute(w, pageTemplate, d)
}

// within is a difference with its interval.
func within(x, low, high float64, digits int) string {
	return fmt.Sprintf("%s (%s to %s)", signed(x, digits), signed(low, digits), signed(high, digits))
}

// fullTable has a line for each measure of each row.
func (c *comparison) fullTable() report.Table {
	t := report.Table{Head: []string{"measure", "method", "mean", "deviation", "range", "difference", "p", "p, Holm",
		"detectable"}}
	for i, m := range c.measures {
		for k, s := range c.scores[i] {
			title, difference := m.title, ""
			if k > 0 {
				title, difference = "", signed(s.difference.Estimate, m.digits)
			}
			if !math.IsNaN(s.difference.P) {
				difference = within(s.difference.Estimate, s.difference.Low, s.difference.High, m.digits)
			}
			spread := fixed(s.low, m.digits) + " to " + fixed(s.top, m.digits)
			t.Rows = append(t.Rows, []string{title, c.rows[k].name, fixed(s.mean, m.digits),
				fixed(s.deviation, m.digits), spread, difference, unmarked(s.difference.P),
				c.pText(m.name, k, s.holm), fixed(s.detectable, m.digits)})
		}
	}
	return t
}

// testTable has a line for each paired test on a test text.
func (c *comparison) testTable() report.Table {
	all := report.Table{Head: []string{"text", "method", "of", "control", "method", "difference (95 %)", "p",
		"p, randomisation"}}
	for k, r := range c.rows {
		for _, t := range c.texts[k] {
			pair := func(what string, p significance.Paired, ar float64) {
				a, b := p.Baseline.Score, p.System.Score
				all.Rows = append(all.Rows,
					[]string{t.Text, r.name, what, fixed(a, 2), fixed(b, 2), within(b-a, p.Low, p.High, 2),
						unmarked(p.P), unmarked(ar)})
			}
			for _, e := range t.Each {
				pair(fmt.Sprintf("BLEU, seed %d", e.Seed), e.Pair, e.PAR)
			}
			if len(t.Each) > 1 {
				pair("BLEU, seeds pooled", t.BLEU, t.PAR)
			}
			if l := t.Loss; l.N > 0 {
				all.Rows = append(all.Rows,
					[]string{t.Text, r.name, fmt.Sprintf("nats a token, %d blocks, paired t", l.N), "", "",
						within(l.Mean, l.Low, l.High, 4), unmarked(l.P), ""})
			}
		}
	}
	return all
}

func (c *comparison) sections() (all []section) {
	for _, s := range []section{
		{"Training", "Time is that of training alone; all updates are taken to last alike.", c.courses()},
		{"Output matrix", "At the end of training: singular values of the best checkpoint, cosines of the last " +
			"validation. All matrices are scaled to one norm.", c.spectra()},
		{"Words as points", "Means over seeds. Distances go from up to 2,000 rows to the nearest other row; " +
			"principal components are of the rows less their mean. The table of all measures has more.", c.pointsOf()},
		{"Isotropy and validation loss", "A dot is a run. Correlations are Spearman's, of ranks among the runs of " +
			"one text; -isotropy prints them with intervals, and also among the runs of one method.", c.scatters()},
		{"By frequency of words", "Norms and cosines are of the first seed's matrix.", c.byFrequencyOfWords()},
		{"Words in the plane of the two leading directions", "First seed. Dark dots are frequent words. Centred: " +
			"less the mean row, with directions of its own.", c.projections()},
	} {
		if len(s.Charts) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// pictures writes all charts into a folder, each as a file with the name of its title, without the figure that follows
// a colon.
func (c *comparison) pictures(folder string) (count int, err error) {
	if err := files.MakeFolder(folder); err != nil {
		return 0, files.DiskFull(err)
	}
	taken := map[string]int{}
	for _, s := range c.sections() {
		for _, drawn := range s.Charts {
			title, _, _ := strings.Cut(strings.ToLower(drawn.Title), ": ")
			name := strings.Join(strings.FieldsFunc(title,
				func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "-")
			if taken[name]++; taken[name] > 1 {
				name = fmt.Sprintf("%s-%d", name, taken[name])
			}
			if err := files.Write(filepath.Join(folder, name+".svg"), []byte(drawn.File())); err != nil {
				return count, err
			}
			count++
		}
	}
	return count, nil
}

// NotAlike names the rows that are no fair comparison.
func (d pageData) NotAlike() (names string) {
	var all []string
	for _, r := range d.Rows {
		if len(r.Notes) > 0 {
			all = append(all, r.Name)
		}
	}
	return strings.Join(all, ", ")
}
