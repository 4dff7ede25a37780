package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/chart"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"inline": func(c *chart.Chart) template.HTML { return template.HTML(c.SVG()) }, // the chart escapes its texts itself
}).Parse(pageText))

// pageData is what page.html shows.
type pageData struct {
	Title    string
	Changes  string // that are in no commit
	Rows     []pageRow
	Columns  []string // of the short table
	Short    [][]cell
	Footnote string
	Full     []fullRow
	Tests    []testRow
	Sections []section
}

// pageRow is a row in the legend and in the list of runs.
type pageRow struct {
	Number   int
	Name     string
	Colour   string
	Control  bool
	Settings string
	Notes    []string
	Runs     []pageRun
}

type pageRun struct {
	Seed    int64
	Folder  string
	Commit  string
	Updates int64
}

// cell is one of the short table.
type cell struct {
	Text string
	Best bool
}

// fullRow is one measure of one row.
type fullRow struct {
	Measure, Row                                             string
	First                                                    bool // of its measure
	Count                                                    int  // rows of the measure
	Mean, Deviation, Range, Difference, P, PHolm, Detectable string
}

// testRow is one paired test on a test text.
type testRow struct{ Text, Row, What, Control, Other, Difference, Bootstrap, Randomisation string }

// section are charts of one kind.
type section struct {
	Title, Note string
	Charts      []*chart.Chart
}

// page writes a page of HTML that needs no other file.
func (c *comparison) page(w io.Writer) error {
	d := pageData{Title: fmt.Sprintf("%s: %d methods compared", c.control().runs[0].results.Run, len(c.rows)), Footnote: c.footnote(), Changes: c.uncommitted()}
	for k, r := range c.rows {
		row := pageRow{Number: k, Name: r.name, Colour: chart.CSS(chart.Hue(k)), Control: k == 0, Settings: r.settings(c.control()), Notes: r.notes}
		for _, t := range r.runs {
			code := t.results.Code
			row.Runs = append(row.Runs, pageRun{t.results.Seed, t.folder, fmt.Sprintf("%.12s", or(string(code.Commit), "unknown")), t.results.Updates})
		}
		d.Rows = append(d.Rows, row)
	}
	for _, col := range c.columns() {
		d.Columns = append(d.Columns, col.title)
		for k, text := range col.cells {
			if len(d.Short) <= k {
				d.Short = append(d.Short, nil)
			}
			d.Short[k] = append(d.Short[k], cell{text, k == col.best})
		}
	}
	for i, m := range c.measures {
		for k, s := range c.scores[i] {
			row := fullRow{Measure: m.title, Row: c.rows[k].name, First: k == 0, Count: len(c.rows), Mean: fixed(s.mean, m.digits), Deviation: fixed(s.deviation, m.digits),
				Range: fixed(s.low, m.digits) + " to " + fixed(s.top, m.digits), P: c.pText(m.name, k, s.difference.P), PHolm: c.pText(m.name, k, s.holm), Detectable: fixed(s.detectable, m.digits)}
			if k > 0 {
				row.Difference = signed(s.difference.Mean, m.digits)
				if s.difference.N > 1 {
					row.Difference += fmt.Sprintf(" (%s to %s)", signed(s.difference.Low, m.digits), signed(s.difference.High, m.digits))
				}
			}
			d.Full = append(d.Full, row)
		}
	}
	d.Tests = c.testRows()
	d.Sections = c.sections()
	return pageTemplate.Execute(w, d)
}

func (c *comparison) testRows() (all []testRow) {
	for k, r := range c.rows {
		for _, t := range c.texts[k] {
			mark := func(p float64) string { return c.pText("test."+t.Text+".bleu", k, p) }
			pair := func(what string, p seedTest) {
				all = append(all, testRow{t.Text, r.name, what, fixed(p.Pair.Baseline.Score, 2), fixed(p.Pair.System.Score, 2),
					fmt.Sprintf("%s (%s to %s)", signed(p.Pair.System.Score-p.Pair.Baseline.Score, 2), signed(p.Pair.Low, 2), signed(p.Pair.High, 2)), mark(p.Pair.P), mark(p.PAR)})
			}
			for _, e := range t.Each {
				pair(fmt.Sprintf("BLEU, seed %d", e.Seed), e)
			}
			if len(t.Each) > 1 {
				pair("BLEU, seeds pooled", seedTest{Pair: t.BLEU, PAR: t.PAR})
			}
			if t.Loss.N > 0 {
				all = append(all, testRow{t.Text, r.name, fmt.Sprintf("nats a token, %d blocks, paired t", t.Loss.N), "", "",
					fmt.Sprintf("%s (%s to %s)", signed(t.Loss.Mean, 4), signed(t.Loss.Low, 4), signed(t.Loss.High, 4)), pText(t.Loss.P), ""})
			}
		}
	}
	return all
}

func (c *comparison) sections() (all []section) {
	for _, s := range []section{
		{"Training", "Lines are means over seeds, bands their range. Time is that of training alone, each update taken for as long as the mean.", c.courses()},
		{"Output matrix", "Measured when training ended, of the best checkpoint (singular values) or of the last validation (cosines); all matrices scaled to one norm.", c.spectra()},
		{"Words as points", "Means over seeds. Distances are those of up to 2,000 rows to the nearest of all others; principal components are of the rows less their mean. What else is measured of them, and of hidden states, is in the table of all measures.", c.pointsOf()},
		{"Isotropy and validation loss", "A dot is a run. Correlations are Spearman's, of ranks among the runs of one text; -isotropy prints them with intervals, and also among those of one method.", c.scatters()},
		{"By frequency of words", "Norms and cosines are of the first seed's matrix.", c.byFrequencyOfWords()},
		{"Words in the plane of the two leading directions",
			"First seed. Dark dots are frequent words: black the ten most frequent, then up to rank 100, 1,000, 10,000, and more. The blue dot is the zero vector. Centred: less the mean row, with directions of its own.", c.projections()},
	} {
		if len(s.Charts) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// pictures writes all charts into a folder, each as a file with the name of its title, without the figure that follows a colon.
func (c *comparison) pictures(folder string) (count int, err error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return 0, files.DiskFull(err)
	}
	taken := map[string]int{}
	for _, s := range c.sections() {
		for _, drawn := range s.Charts {
			title, _, _ := strings.Cut(strings.ToLower(drawn.Title), ": ")
			name := strings.Join(strings.FieldsFunc(title, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "-")
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
