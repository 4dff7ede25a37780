package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/objectives/measures"
)

// widest is how many letters a line of the table may have.
const widest = 120

// rows are the lines of the table.
var rows = []struct {
	title string
	value func(a *analysis) string
}{
	{"rows x columns", func(a *analysis) string { return fmt.Sprintf("%d x %d", a.rows, a.width) }},
	{"I1 (isotropic: 1)", func(a *analysis) string { return number(a.measures.I1) }},
	{"I2 (isotropic: 0)", func(a *analysis) string { return number(a.measures.I2) }},
	{"I1, both signs", func(a *analysis) string { return number(a.measures.I1BothSigns) }},
	{"I2, both signs", func(a *analysis) string { return number(a.measures.I2BothSigns) }},
	{"spread of Z, random directions", func(a *analysis) string { return number(a.spread) }},
	{"mean cosine", func(a *analysis) string { return number(a.measures.MeanCosine) }},
	{"Frobenius norm", func(a *analysis) string { return number(a.measures.Frobenius) }},
	{"largest singular value", func(a *analysis) string { return number(a.measures.SingularValues[0]) }},
	{"median singular value", func(a *analysis) string { return number(median(a.measures.SingularValues)) }},
	{"smallest singular value", func(a *analysis) string {
		return number(a.measures.SingularValues[len(a.measures.SingularValues)-1])
	}},
	{"smallest / largest", func(a *analysis) string { return number(a.measures.SigmaRatio) }},
	{"effective rank", func(a *analysis) string { return number(a.measures.EffectiveRank) }},
	{fmt.Sprintf("hubness, skew of N_%d", measures.NearestRows), func(a *analysis) string { return number(a.hubness.Skewness) }},
	{"largest hub", func(a *analysis) string { return fmt.Sprintf("%d: %s", a.hubness.Largest, shorten(a.hub, 20)) }},
	{"norm with frequency (Spearman)", func(a *analysis) string { return number(a.normFrequency) }},
	{"IsoScore (isotropic: 1)", func(a *analysis) string { return number(a.points.IsoScore) }},
	{"pairs with a positive cosine", func(a *analysis) string { return number(a.points.PositiveCosines) }},
	{"mean row / rms of the rows", func(a *analysis) string { return number(a.points.Components.Mean) }},
	{"variance along component 1", func(a *analysis) string { return number(share(a, 0)) }},
	{"variance along component 2", func(a *analysis) string { return number(share(a, 1)) }},
	{"components for 50 and 90 % of it", func(a *analysis) string {
		return fmt.Sprintf("%d, %d", a.points.Components.Needed(0.5), a.points.Components.Needed(0.9))
	}},
	{"component 1 with frequency", func(a *analysis) string { return number(correlation(a)) }},
	{"nearest row / rms, median", func(a *analysis) string { return number(a.points.MedianNearest) }},
	{"radius of a word / rms, median", func(a *analysis) string { return number(a.points.MedianRadius) }},
	{"words with a radius above 0", func(a *analysis) string { return number(a.points.Recognisable) }},
}

// stateRows are the lines of hidden states.
var stateRows = []struct {
	title string
	value func(c *measures.ContextMeasures) string
}{
	{"hidden states", func(c *measures.ContextMeasures) string { return fmt.Sprint(c.States) }},
	{"their hull to the origin / rms", func(c *measures.ContextMeasures) string {
		if c.Hull.Contains(1) {
			return "0 (inside)"
		}
		return number(c.Hull.Distance)
	}},
	{"sum of b/g of their layer norm", func(c *measures.ContextMeasures) string { return number(c.BiasOverGain) }},
	{"its plane to the origin / rms", func(c *measures.ContextMeasures) string { return number(c.PlaneDistance) }},
	{"pull on the rarest fifth", func(c *measures.ContextMeasures) string { return number(c.RarePull) }},
	{"pull on the most frequent fifth", func(c *measures.ContextMeasures) string { return number(c.FrequentPull) }},
	{"states that recognise their word", func(c *measures.ContextMeasures) string { return number(c.Recognised) }},
	{"margin / norm, median", func(c *measures.ContextMeasures) string { return number(c.MedianMargin) }},
}

func share(a *analysis, i int) float64 {
	if shares := a.points.Components.Shares(); i < len(shares) {
		return shares[i]
	}
	return math.NaN()
}

func correlation(a *analysis) float64 {
	if len(a.componentFrequency) == 0 {
		return math.NaN()
	}
	return a.componentFrequency[0]
}

// printTable prints a column for each matrix, in as many blocks as the width of a screen wants, and what the numbers rest on.
func printTable(out io.Writer, all []*analysis) {
	titles := []string{""}
	for _, r := range rows {
		titles = append(titles, r.title)
	}
	if slices.ContainsFunc(all, func(a *analysis) bool { return a.contexts != nil }) {
		for _, r := range stateRows {
			titles = append(titles, r.title)
		}
	}
	block, used := [][]string{titles}, width(titles)
	flush := func() {
		for line := range titles {
			var b strings.Builder
			for i, column := range block {
				pad := strings.Repeat(" ", width(column)-utf8.RuneCountInString(column[line]))
				if i == 0 {
					b.WriteString(column[line] + pad)
				} else {
					b.WriteString("  " + pad + column[line])
				}
			}
			fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
		}
		fmt.Fprintln(out)
		block, used = block[:1], width(titles)
	}
	for _, a := range all {
		column := []string{shorten(a.name, widest-used-4)}
		if len(block) > 1 {
			column[0] = shorten(a.name, 60)
		}
		for _, r := range rows {
			column = append(column, r.value(a))
		}
		for range len(titles) - len(column) {
			value := "-"
			if a.contexts != nil {
				value = stateRows[len(column)-len(rows)-1].value(a.contexts)
			}
			column = append(column, value)
		}
		if len(block) > 1 && used+2+width(column) > widest {
			flush()
		}
		block, used = append(block, column), used+2+width(column)
	}
	flush()
	for _, a := range all {
		for _, note := range a.notes() {
			fmt.Fprintf(out, "%s: %s\n", a.name, note)
		}
	}
}

// notes give the priors that fit, and say what the numbers of a matrix rest on, where that is not the matrix whole and as it is.
func (a *analysis) notes() []string {
	var notes []string
	for _, p := range a.priors {
		notes = append(notes, fmt.Sprintf("the %s prior of such a spectrum, within %.2g%%: %s", p.Kind, 100*p.Spread.Value(), p.flags()))
	}
	if a.scale != 1 {
		notes = append(notes, fmt.Sprintf("scaled by %.4g to the Frobenius norm of the first matrix", a.scale))
	}
	if a.samples > 1 || a.isotropyRows < a.rows {
		notes = append(notes, fmt.Sprintf("I1 and I2 are means of %d samples of %d rows", a.samples, a.isotropyRows))
	}
	if a.hubness.Rows == hubRows && a.rows > hubRows {
		notes = append(notes, fmt.Sprintf("hubness is that of %d rows at equal distances, not of all %d", hubRows, a.rows))
	}
	if n := len(a.margins); n > 0 && a.rows > int64(n) {
		notes = append(notes, fmt.Sprintf("radii are those of %d words; see docs/analysis.md", n))
	}
	if a.contexts != nil && !math.IsNaN(a.contexts.Recognised) {
		notes = append(notes, fmt.Sprintf("a state recognises its word where that keeps half of the probability with its score lowered by %g |w| |h|", measures.RecognisedAt))
	}
	if a.ordered {
		notes = append(notes, "frequencies are not known: rows are taken to stand in the order of falling frequency")
	}
	return notes
}

// number shows four digits, and a dash for what is not defined.
func number(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.4g", x)
}

func width(column []string) int {
	widest := 0
	for _, cell := range column {
		widest = max(widest, utf8.RuneCountInString(cell))
	}
	return widest
}

// shorten keeps the end of a long name, which tells it from others.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return "..." + string(r[len(r)-n+3:])
	}
	return s
}
