package translation

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/tokenize"
)

// Splitting says what a [Server] takes for a sentence. Line breaks always end one.
type Splitting int

const (
	SplitLong   Splitting = iota // a line of at most 250 characters is translated whole, a longer one by its sentences
	SplitAlways                  // every line is translated by its sentences
	SplitNever                   // every line is translated whole
)

// longLine is the number of characters, about two sentences of news, up to which SplitLong leaves a line whole.
const longLine = 250

// piece is a part of a text that is translated by itself, and the white space behind it.
type piece struct {
	*sentence        // nil where there are no words
	gap       string // white space
	words     int    // of the text before it, as spaces separate them
	found     []written
}

// passage cuts a request's text into pieces, or says why it cannot be translated. A sentence that is longer than the
// model's positions is halved until it is not, but with SplitNever.
func (m *served) passage(r Request, how Splitting) (pieces []piece, err error) {
	words := 0 // of the text that have ended
	var add func(s tokenize.Sentence) error
	add = func(s tokenize.Sentence) error {
		p := piece{gap: s.Gap, words: words}
		if s.Text != "" || r.Prefix != "" && len(pieces) == 0 {
			one := r
			if one.Line = s.Text; len(pieces) > 0 {
				one.Prefix = ""
			}
			read, err := m.read(one)
			var long *lengthError
			if errors.As(err, &long) && how != SplitNever {
				halves := cutOutside(s.Text, tokenize.Halve(s.Text), r.Keep)
				if len(halves) > 1 {
					halves[len(halves)-1].Gap += s.Gap
					for _, half := range halves {
						if err := add(half); err != nil {
							return err
						}
					}
					return nil
				}
			}
			if err != nil {
				return err
			}
			p.sentence = read
		}
		if words += len(strings.Fields(s.Text)); s.Text != "" && s.Gap == "" {
			words-- // the last one goes on in the next piece
		}
		pieces = append(pieces, p)
		return nil
	}
	for line := range strings.SplitAfterSeq(r.Line, "\n") {
		sentences := tokenize.Cut(line, nil)
		if how == SplitAlways || how == SplitLong && utf8.RuneCountInString(strings.TrimRight(line, "\r\n")) > longLine {
			sentences = cutOutside(line, m.splitter.Split(line), r.Keep)
		}
		for _, s := range sentences {
			if err := add(s); err != nil {
				return nil, err
			}
		}
	}
	if len(pieces) == 0 && r.Prefix != "" {
		err = add(tokenize.Sentence{})
	}
	return pieces, err
}

// cutOutside joins sentences of a text again where a match of a pattern lies across their border: what is kept stays
// whole.
func cutOutside(text string, sentences []tokenize.Sentence, keep []*regexp.Regexp) []tokenize.Sentence {
	var ends []int
	for at, i := 0, 0; i+1 < len(sentences); i++ {
		if at += len(sentences[i].Text); at > 0 {
			ends = append(ends, at)
		}
		at += len(sentences[i].Gap)
	}
	for _, pattern := range keep {
		if len(ends) == 0 {
			break
		}
		spans := pattern.FindAllStringIndex(text, -1)
		ends = slices.DeleteFunc(ends, func(end int) bool { // both are in rising order
			for len(spans) > 0 && spans[0][1] <= end {
				spans = spans[1:]
			}
			return len(spans) > 0 && spans[0][0] < end
		})
	}
	return tokenize.Cut(text, ends)
}

// joined are the translations of a text, given those of its pieces: the best of all, the second best of all, and so on,
// where a piece that has fewer gives its last.
func joined(pieces []piece) (out []Translation) {
	n := 1
	for _, p := range pieces {
		n = max(n, len(p.found))
	}
	for rank := range n {
		var x Translation
		var text, tokens strings.Builder
		logProb, symbols := 0.0, 0
		for _, p := range pieces {
			if p.sentence != nil {
				w := written{Translation: p.empty()}
				if len(p.found) > 0 {
					w = p.found[min(rank, len(p.found)-1)]
				}
				text.WriteString(w.Text)
				if tokens.Len() > 0 && w.Tokenised != "" {
					tokens.WriteByte(' ')
				}
				tokens.WriteString(w.Tokenised)
				x.Score += w.Score
				logProb, symbols = logProb+w.logProb, symbols+w.symbols
				if w.Details != nil {
					x.addWords(w.Details, p.words)
				}
			}
			text.WriteString(p.gap)
		}
		x.Text, x.Tokenised = text.String(), tokens.String()
		if x.Details != nil && !math.IsNaN(x.Details.Confidence) {
			x.Details.Confidence = math.Exp(logProb / float64(symbols))
		}
		out = append(out, x)
	}
	return out
}

// addWords adds the words of a piece, which has that number of source words before it.
func (x *Translation) addWords(d *Details, before int) {
	if x.Details == nil {
		x.Details = &Details{Confidence: d.Confidence}
	}
	for _, w := range d.Words {
		w.Source = append([]int(nil), w.Source...)
		for i := range w.Source {
			w.Source[i] += before
		}
		x.Details.Words = append(x.Details.Words, w)
	}
}
