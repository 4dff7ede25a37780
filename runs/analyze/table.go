package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// widest is how many letters a line of the table may have.
const widest = 120

// rows are the lines of the table.
var rows = []struct {
	title string
	value func(a *analysis) string
}{
	{"rows x columns", func(a *analysis) string { return fmt.Sprintf("%d x %d", a.Vocabulary, a.Width) }},
	{"I1 (isotropic: 1)", func(a *analysis) string { return number(a.I1) }},
	{"I2 (isotropic: 0)", func(a *analysis) string { return number(a.I2) }},
	{"I1, both signs", func(a *analysis) string { return number(a.I1BothSigns) }},
	{"I2, both signs", func(a *analysis) string { return number(a.I2BothSigns) }},
	{"spread of Z, random directions", func(a *analysis) string { return number(a.Spread) }},
	{"mean cosine", func(a *analysis) string { return number(a.MeanCosine) }},
	{"Frobenius norm", func(a *analysis) string { return number(a.Frobenius) }},
	{"largest singular value", func(a *analysis) string { return at(a.SingularValues, 0) }},
	{"median singular value", func(a *analysis) string { return at(a.SingularValues, len(a.SingularValues)/2) }},
	{"smallest singular value", func(a *analysis) string { return at(a.SingularValues, len(a.SingularValues)-1) }},
	{"smallest / largest", func(a *analysis) string { return number(a.SigmaRatio) }},
	{"effective rank", func(a *analysis) string { return number(a.EffectiveRank) }},
	{fmt.Sprintf("hubness, skew of N_%d", measures.NearestRows), func(a *analysis) string { return number(a.Hubness) }},
	{"largest hub", func(a *analysis) string { return fmt.Sprint(a.LargestHub, ": ", shorten(string(a.Hub), 20)) }},
	{"norm with frequency (Spearman)", func(a *analysis) string { return number(a.NormFrequency) }},
	{"IsoScore (isotropic: 1)", func(a *analysis) string { return number(a.IsoScore) }},
	{"IsoScore*, shrunk by a fifth", func(a *analysis) string { return number(a.IsoScoreStar) }},
	{"pairs with a positive cosine", func(a *analysis) string { return number(a.PositiveCosines) }},
	{"mean row / rms of the rows", func(a *analysis) string { return number(a.MeanRow) }},
	{"length of the mean row", func(a *analysis) string { return number(a.MuNorm) }},
	{"its share of the squares", func(a *analysis) string { return number(a.MeanShare) }},
	{"rare from frequent fifth / spread", func(a *analysis) string { return number(a.RareSeparation) }},
	{"variance along component 1", func(a *analysis) string { return at(a.Variance, 0) }},
	{"variance along component 2", func(a *analysis) string { return at(a.Variance, 1) }},
	{"components for 50 and 90 % of it", func(a *analysis) string { return fmt.Sprintf("%d, %d", a.For50, a.For90) }},
	{"component 1 with frequency", func(a *analysis) string { return at(a.ComponentFrequency, 0) }},
	{"nearest row / rms, median", func(a *analysis) string { return number(a.MedianNearest) }},
	{"radius of a word / rms, median", func(a *analysis) string { return number(a.Radius) }},
	{"words with a radius above 0", func(a *analysis) string { return number(a.Recognisable) }},
}

// stateRows are the lines of hidden states.
var stateRows = []struct {
	title string
	value func(s *states) string
}{
	{"hidden states", func(s *states) string { return fmt.Sprint(s.Count) }},
	{"their hull to the origin / rms", func(s *states) string {
		if s.OriginInHull {
			return "0 (inside)"
		}
		return number(s.HullDistance)
	}},
	{"sum of b/g of their layer norm", func(s *states) string { return number(s.BiasOverGain) }},
	{"its plane to the origin / rms", func(s *states) string { return number(s.PlaneDistance) }},
	{"pull on the rarest fifth", func(s *states) string { return number(s.RarePull) }},
	{"pull on the most frequent fifth", func(s *states) string { return number(s.FrequentPull) }},
	{"states that recognise their word", func(s *states) string { return number(s.Recognised) }},
	{"margin / norm, median", func(s *states) string { return number(s.MedianMargin) }},
	{"IsoScore of the states", func(s *states) string { return number(s.IsoScore) }},
	{"IsoScore*, shrunk by a fifth", func(s *states) string { return number(s.IsoScoreStar) }},
	{"range of scores", func(s *states) string { return number(s.LogitRange) }},
	{"rank of log-probabilities", func(s *states) string {
		if s.RankLimit == 0 {
			return "-"
		}
		return fmt.Sprintf("%d of %d", s.Rank, s.RankLimit)
	}},
}

// at is one of some numbers, a dash where there are fewer.
func at(xs []record.Number, i int) string {
	if i < 0 || i >= len(xs) {
		return "-"
	}
	return number(xs[i])
}

// printTable prints a column for each matrix, in blocks as wide as a screen, and what the numbers rest on.
func printTable(out io.Writer, all []*analysis) {
	titles := []string{""}
	for _, r := range rows {
		titles = append(titles, r.title)
	}
	if slices.ContainsFunc(all, func(a *analysis) bool { return a.States != nil }) {
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
		column := []string{shorten(a.Name, 60)}
		if len(block) == 1 { // the first of a block may fill it
			column[0] = shorten(a.Name, widest-used-4)
		}
		for _, r := range rows {
			column = append(column, r.value(a))
		}
		for range len(titles) - len(column) {
			value := "-"
			if a.States != nil {
				value = stateRows[len(column)-len(rows)-1].value(a.States)
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
			fmt.Fprintf(out, "%s: %s\n", a.Name, note)
		}
	}
}

// notes give the priors that fit, and say what the numbers of a matrix rest on, where that is not the matrix whole and
// as it is.
func (a *analysis) notes() []string {
	var notes []string
	for _, p := range a.Priors {
		notes = append(notes, fmt.Sprintf("the %s prior of such a spectrum, within %.2g%%: %s", p.Kind,
			100*p.Spread.Value(), p.flags()))
	}
	if a.Scale != 1 {
		notes = append(notes, fmt.Sprintf("scaled by %.4g to the Frobenius norm of the first matrix", a.Scale))
	}
	if a.Samples > 1 || a.IsotropyRows < a.Vocabulary {
		notes = append(notes, fmt.Sprintf("I1 and I2 are means of %d samples of %d rows", a.Samples, a.IsotropyRows))
	}
	if a.HubnessRows == hubRows && a.Vocabulary > hubRows {
		notes = append(notes, fmt.Sprintf("hubness is that of %d rows at equal distances, not of all %d", hubRows,
			a.Vocabulary))
	}
	if n := len(a.Margins); n > 0 && a.Vocabulary > int64(n) {
		notes = append(notes, fmt.Sprintf("radii are those of %d words; see docs/analysis.md", n))
	}
	if a.States != nil && !math.IsNaN(a.States.Recognised.Value()) {
		notes = append(notes, fmt.Sprintf("a state recognises its word where that keeps half of the probability "+
			"with its score lowered by %g |w| |h|", measures.RecognisedAt))
	}
	if a.ordered {
		notes = append(notes, "frequencies are not known: rows are taken to stand in the order of falling frequency")
	}
	return notes
}

// number shows four digits, and a dash for what is not defined.
func number(n record.Number) string {
	if x := n.Value(); !math.IsNaN(x) {
		return fmt.Sprintf("%.4g", x)
	}
	return "-"
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
