package translation

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/tokenize"
)

// details are the words of a text with their probabilities, given the tokens behind the text; where vectors stand for
// words, these have no probabilities.
func (t *Translator) details(text string, tokens []token, h decode.Hypothesis) *Details {
	d := &Details{Confidence: math.Exp(h.LogProb / float64(len(h.TokenLogProbs)))}
	for _, word := range strings.Fields(text) {
		d.Words = append(d.Words, Word{Text: word})
	}
	logProbs := make([]float64, len(d.Words))
	for i, span := range tokenize.WordSpans(text, texts(tokens)) {
		for w := span.First; w <= span.Last; w++ {
			for _, p := range h.TokenLogProbs[tokens[i].first:tokens[i].end] {
				logProbs[w] += p
			}
		}
	}
	for i, p := range logProbs {
		d.Words[i].Confidence = math.Exp(p)
		if t.Text.Vectors != nil {
			d.Confidence, d.Words[i].Confidence = math.NaN(), math.NaN()
		}
	}
	return d
}

// link finds the source word of each word of a translation: the one to which its symbols attend most, all together.
// Punctuation does not speak for a word that it touches.
func (t *Translator) link(line string, units []string, seen decode.Attended, tokens []token, words []Word) {
	from := tokensOf(t.Text.Source, units)
	fromWords, fromSpans := strings.Fields(line), tokenize.WordSpans(line, texts(from))
	weights := make([][]float64, len(words))
	for i, span := range tokenize.WordSpans(joinWords(words), texts(tokens)) {
		for w := span.First; w <= span.Last; w++ {
			if !spoken(tokens[i].text) && spoken(words[w].Text) {
				continue
			}
			if weights[w] == nil {
				weights[w] = make([]float64, len(fromWords))
			}
			for symbol := tokens[i].first; symbol < tokens[i].end; symbol++ {
				addByWord(weights[w], seen.Row(symbol), from, fromSpans, fromWords)
			}
		}
	}
	for w, row := range weights {
		if len(row) > 0 {
			words[w].Source = []int{slices.Index(row, slices.Max(row))}
		}
	}
}

// addByWord adds the weights of symbols to those of the raw words that they come from.
func addByWord(sums []float64, symbols []float32, tokens []token, spans []tokenize.Span, words []string) {
	for k, span := range spans {
		for v := span.First; v <= span.Last; v++ {
			if !spoken(tokens[k].text) && spoken(words[v]) {
				continue
			}
			for _, a := range symbols[tokens[k].first:tokens[k].end] {
				sums[v] += float64(a)
			}
		}
	}
}

// spoken reports whether a text has letters or digits.
func spoken(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

func texts(tokens []token) (out []string) {
	for _, x := range tokens {
		out = append(out, x.text)
	}
	return out
}

func joinWords(words []Word) string {
	out := make([]string, len(words))
	for i, x := range words {
		out[i] = x.Text
	}
	return strings.Join(out, " ")
}
