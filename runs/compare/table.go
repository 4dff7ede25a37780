package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/score"
)

// column is one of the short table, which Markdown, LaTeX and the page show.
type column struct {
	title string
	cells []string // by row
	best  int      // the row that is best and not by chance; -1 where there is none
}

// columns are what a reader asks first: the scores, how far from the control they are and whether by chance, and what
// they cost. Signs are Unicode's; LaTeX replaces them.
func (c *comparison) columns() []column {
	names, seeds := column{title: "method", best: -1}, column{title: "seeds", best: -1}
	for _, r := range c.rows {
		names.cells = append(names.cells, r.name)
		seeds.cells = append(seeds.cells, strconv.Itoa(len(r.runs)))
	}
	all := []column{names, seeds}
	add := func(name string) bool {
		i := c.index(name)
		if i < 0 {
			return false
		}
		col := column{title: c.measures[i].title, best: c.bestOf(i)}
		for _, s := range c.scores[i] {
			col.cells = append(col.cells, s.spread())
		}
		all = append(all, col)
		return true
	}
	if !add("valid.ppl") {
		add("valid.nll")
	}
	for i, text := range tests(c.control().runs) {
		if name := c.testScore(text); name != "" {
			add(name)
			all = append(all, c.differences(name, i)...)
		}
		for _, with := range record.Evaluations {
			if name := "test." + text + "." + with + ".ppl"; add(name) {
				all = append(all, c.overSeeds(name)...)
			}
		}
	}
	add("isotropy.mean_cosine")
	add("best.step")
	add("best.seconds")
	add("seconds_per_update")
	relative := func(name, title string, cell func(mean float64) string) {
		if i := c.index(name); i >= 0 {
			col := column{title: title, best: -1}
			for _, s := range c.scores[i] {
				col.cells = append(col.cells, cell(s.mean)+fixed(s.mean/c.scores[i][0].mean, 2)+"×")
			}
			all = append(all, col)
		}
	}
	relative("seconds_per_update", "cost", func(float64) string { return "" })
	relative("peak_device_bytes", "device memory",
		func(bytes float64) string { return fixed(bytes/(1<<20), 0) + " MiB, " })
	return all
}

// differences are the columns beside a test score: the mean difference to the control and the corrected p values that
// there are.
func (c *comparison) differences(name string, text int) []column {
	overSeeds := c.overSeeds(name)
	tests := []struct {
		column
		p func(t textTest) float64
	}{
		{column{title: "p, bootstrap", best: -1}, func(t textTest) float64 { return t.HolmBLEU }},
		{column{title: "p, randomisation", best: -1}, func(t textTest) float64 { return t.HolmAR }},
		{column{title: "p, blocks", best: -1}, func(t textTest) float64 { return t.HolmLoss }},
	}
	any := make([]bool, len(tests))
	for k := range c.rows {
		for j := range tests {
			p := math.NaN()
			if k > 0 {
				p = tests[j].p(c.texts[k][text])
			}
			any[j] = any[j] || !math.IsNaN(p)
			tests[j].cells = append(tests[j].cells, unmarked(p))
		}
	}
	all := overSeeds[:1:1]
	for j, t := range tests {
		if any[j] && !(j == 2 && any[0]) { // where BLEU is shown, its tests are; the loss has its own on the page
			all = append(all, t.column)
		}
	}
	return append(all, overSeeds[1])
}

// overSeeds are the mean difference of a score to the control, and its corrected p over seeds.
func (c *comparison) overSeeds(name string) []column {
	delta, p := column{title: "Δ", best: -1}, column{title: "p, seeds", best: -1}
	for k, s := range c.scores[c.index(name)] {
		delta.cells = append(delta.cells, signed(s.difference.Estimate, s.measure.digits))
		p.cells = append(p.cells, c.pText(name, k, s.holm))
	}
	return []column{delta, p}
}

// nearZero says that a measure counts words of translations which, of a row as of the control, have next to nothing in
// common with the references. A test may tell such scores apart, but neither system can translate.
func (c *comparison) nearZero(name string, k int) bool {
	parts := strings.Split(name, ".")
	if last := parts[len(parts)-1]; parts[0] != "test" || !slices.Contains([]string{"bleu", "bleu_tok", "chrf"}, last) {
		return false
	}
	i := c.index(strings.Join(parts[:len(parts)-1], ".") + ".bleu")
	return i >= 0 && c.scores[i][0].mean < score.NearZero && c.scores[i][k].mean < score.NearZero
}

// pText is a p value of the difference between a row and the control in a measure, marked where it is small and the
// scores are not.
func (c *comparison) pText(name string, k int, p float64) string {
	if c.nearZero(name, k) {
		return unmarked(p)
	}
	return pText(p)
}

// testScore is the measure that the short table shows of a test text, or nothing.
func (c *comparison) testScore(text string) string {
	for _, kind := range []string{".bleu", ".ppl"} {
		if name := "test." + text + kind; c.index(name) >= 0 {
			return name
		}
	}
	return ""
}

func (c *comparison) index(name string) int {
	for i, m := range c.measures {
		if m.name == name {
			return i
		}
	}
	return -1
}

// bestOf is the row with the best mean of a score, where a test says that it is not the best by chance: a method
// differs from the control, or the control from every other row. -1 is none, also where more or less of the score is no
// better.
func (c *comparison) bestOf(i int) int {
	scores, m := c.scores[i], c.measures[i]
	if m.better == 0 || !strings.Contains(m.name, ".") || strings.HasPrefix(m.name, "best.") {
		return -1
	}
	best := -1
	for k, s := range scores {
		if better := float64(m.better); !math.IsNaN(s.mean) && (best < 0 || better*s.mean > better*scores[best].mean) {
			best = k
		}
	}
	others := 0
	for k := 1; k < len(scores); k++ {
		if k != best && best != 0 || math.IsNaN(scores[k].mean) {
			continue
		}
		gain := float64(m.better) * scores[k].difference.Estimate
		if others++; !(c.supported(i, k) < 0.05) || (gain > 0) != (best == k) {
			return -1
		}
	}
	if others == 0 {
		return -1
	}
	return best
}

// supported is the corrected p, over seeds, of a row's difference to the control.
func (c *comparison) supported(measure, k int) float64 {
	if c.nearZero(c.measures[measure].name, k) {
		return math.NaN()
	}
	return c.scores[measure][k].holm
}

// footnote says how the short table is to be read.
func (c *comparison) footnote() string {
	memory := ""
	if c.index("peak_device_bytes") >= 0 {
		memory = fmt.Sprintf(" Device memory is the most that a run held on its GPU, beside its ratio to that of %s.",
			c.control().name)
	}
	return fmt.Sprintf("Means over seeds ± standard deviation; Δ is the difference to %[1]s. p values are "+
		"two-sided and corrected for the number of methods (Holm). “Seeds” is a linear model of all rows, whose "+
		"spread over seeds is pooled, and says whether the method differs; * marks p below 0.05. The others say "+
		"whether these trained models differ on other text: “bootstrap” and “randomisation” are paired tests "+
		"over the test text's sentences with the outputs of all seeds pooled, and “blocks” is a paired t "+
		"test over blocks of %[2]d tokens. Bold: the best mean, if it differs significantly from "+
		"%[1]s (for %[1]s itself: from all others). Cost is the time of an update over that of "+
		"%[1]s.", c.control().name, record.BlockTokens) + memory +
		c.untrained() + c.seen()
}

// untrained says why nothing is marked where the BLEU of a row and of the control are near zero.
func (c *comparison) untrained() string {
	for _, m := range c.measures {
		for k := 1; k < len(c.rows); k++ {
			if c.nearZero(m.name, k) {
				return fmt.Sprintf(" Where both BLEU are below %d nothing is bold or marked: neither translates "+
					"yet, so that the difference tells nothing; train longer.", score.NearZero)
			}
		}
	}
	return ""
}

// seen says what differences the test over seeds is likely to find, so that none found can be told from none there.
func (c *comparison) seen() string {
	var parts []string
	for _, text := range tests(c.control().runs) {
		name := c.testScore(text)
		if name == "" {
			continue
		}
		m, largest := c.measures[c.index(name)], math.NaN() // the row with the fewest seeds sees the least
		for _, s := range c.scores[c.index(name)][1:] {
			if !(s.detectable < largest) && !math.IsNaN(s.detectable) {
				largest = s.detectable
			}
		}
		if !math.IsNaN(largest) {
			parts = append(parts, fixed(largest, m.digits)+" in "+m.title)
		}
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf(" With these seeds, and the spread that all rows have together, the test over "+
		"seeds finds a true difference of %s in %.0f of 100 experiments, and smaller ones less often.",
		strings.Join(parts, ", "), 100*power)
}

// spread is a mean with its standard deviation where there are several seeds.
func (s summary) spread() string {
	if math.IsNaN(s.deviation) || s.deviation == 0 {
		return fixed(s.mean, s.measure.digits)
	}
	return fixed(s.mean, s.measure.digits) + " ± " + fixed(s.deviation, s.measure.digits)
}

// fixed writes a number, and a dash for none.
func fixed(x float64, digits int) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "–"
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

func signed(x float64, digits int) string {
	text := fixed(x, digits)
	if x > 0 {
		return "+" + text
	}
	return strings.Replace(text, "-", "−", 1)
}

func pText(p float64) string {
	mark := ""
	if p < 0.05 {
		mark = "*"
	}
	switch {
	case math.IsNaN(p):
		return "–"
	case p < 0.0005:
		return "<0.001*"
	}
	return fixed(p, 3) + mark
}

// unmarked is a p value of a test over a text: it says nothing of the method, so that it has no mark.
func unmarked(p float64) string { return strings.TrimSuffix(pText(p), "*") }

// table is the short table.
func (c *comparison) table() report.Table {
	t := report.Table{Rows: make([][]string, len(c.rows))}
	for _, col := range c.columns() {
		t.Head, t.Best = append(t.Head, col.title), append(t.Best, col.best)
		for k, text := range col.cells {
			t.Rows[k] = append(t.Rows[k], text)
		}
	}
	return t
}

func (c *comparison) markdown(w io.Writer) error {
	text := c.table().Markdown() + "\n" + c.footnote() + "\n\n" + c.origin() + "\n"
	for _, doubt := range c.doubts() {
		text += "\n- " + doubt
	}
	_, err := io.WriteString(w, strings.TrimRight(text, "\n")+"\n")
	return err
}

// doubts are sentences on what makes the comparison doubtful.
func (c *comparison) doubts() (sentences []string) {
	for _, r := range c.rows {
		for _, note := range r.notes {
			sentences = append(sentences, fmt.Sprintf("Not alike: %s: %s.", r.name, note))
		}
	}
	if changes := c.uncommitted(); changes != "" {
		sentences = append(sentences, changes)
	}
	return sentences
}

func (c *comparison) latex(w io.Writer) error {
	notes := strings.ReplaceAll(c.footnote(), ". ", "\n% ") + "\n% " + c.origin()
	for _, doubt := range c.doubts() {
		notes += "\n% " + doubt
	}
	_, err := fmt.Fprintf(w, "%% needs \\usepackage{booktabs}\n%s%% %s\n", c.table().LaTeX(), notes)
	return err
}

// csv writes a line for each row and measure; what is not known is empty.
func (c *comparison) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	number := func(x float64) string {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return ""
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	lines := [][]string{{"row", "method", "measure", "seeds", "mean", "standard_deviation", "min", "max", "difference",
		"difference_low", "difference_high", "p", "p_holm", "detectable", "values"}}
	for i, m := range c.measures {
		bySeed := m.bySeed(c.rows)
		for k, r := range c.rows {
			s := c.scores[i][k]
			var values []string // of the seeds of all rows
			for _, x := range bySeed[k] {
				values = append(values, number(x))
			}
			lines = append(lines, []string{r.name, r.method(), m.name, strconv.Itoa(len(r.runs)), number(s.mean),
				number(s.deviation), number(s.low), number(s.top),
				number(s.difference.Estimate), number(s.difference.Low), number(s.difference.High),
				number(s.difference.P),
				number(s.holm), number(s.detectable), strings.Join(values, " ")})
		}
	}
	return out.WriteAll(lines)
}
