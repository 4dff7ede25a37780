package translation

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/aperture-ml/aperture/models/decode"
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
	coded     bool   // a code that is none of the text is its first word
	found     []written
}

// passage cuts a request's text into pieces, or says why it cannot be translated. A sentence that is longer than the
// model's positions is halved at white space until it is not, but with SplitNever. A code of the language to translate
// into, such as >>deu<<, is for all pieces up to the next one.
func (m *served) passage(ctx context.Context, r Request, how Splitting) (pieces []piece, err error) {
	spans, err := r.kept(ctx)
	if err != nil {
		return nil, err
	}
	given := r.Prefix == ""
	words := 0 // of the text that have ended
	code := "" // with which pieces begin that have none of their own
	// add takes a sentence that begins at a byte of the text.
	var add func(s tokenize.Sentence, from int) error
	add = func(s tokenize.Sentence, from int) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p := piece{gap: s.Gap, words: words}
		inside := within(spans, from, from+len(s.Text))
		if s.Text != "" {
			line, keep := s.Text, inside
			if own := m.Text.Source.LanguageCode(line); own != "" {
				code = own
			} else if code != "" {
				line = code + " " + line
				keep = shifted(inside, len(code)+1)
				p.coded = true
			}
			one := Request{Line: line, Terms: r.Terms, KeepAt: keep}
			if !given {
				one.Prefix = r.Prefix
			}
			read, err := m.read(one)
			var long *lengthError
			if errors.As(err, &long) && how != SplitNever {
				halves := cutOutside(s.Text, endsOf(tokenize.Halve(s.Text)), inside)
				if len(halves) > 1 {
					halves[len(halves)-1].Gap += s.Gap
					for _, half := range halves {
						if err := add(half, from); err != nil {
							return err
						}
						from += len(half.Text) + len(half.Gap)
					}
					return nil
				}
			}
			if err != nil {
				return err
			}
			p.sentence, given = read, true
		}
		if words += len(strings.Fields(s.Text)); s.Text != "" && s.Gap == "" {
			words-- // the last one goes on in the next piece
		}
		pieces = append(pieces, p)
		return nil
	}
	at := 0
	for _, s := range cutOutside(r.Line, m.ends(r.Line, how), spans) {
		if err := add(s, at); err != nil {
			return nil, err
		}
		at += len(s.Text) + len(s.Gap)
	}
	if !given { // there is nothing to translate, and the prefix stands alone
		if len(pieces) == 0 {
			pieces = []piece{{}}
		}
		pieces[0].sentence, err = m.read(Request{Prefix: r.Prefix})
	}
	return pieces, err
}

// ends are the places where sentences of a text end, in rising order.
func (m *served) ends(text string, how Splitting) (ends []int) {
	at := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		if how == SplitAlways || how == SplitLong && utf8.RuneCountInString(strings.TrimRight(line, "\r\n")) > longLine {
			for _, end := range endsOf(m.splitter.Split(line)) {
				ends = append(ends, at+end)
			}
		}
		at += len(line)
		ends = append(ends, at)
	}
	return ends
}

// endsOf are the places where sentences but the last one end in the text that they make.
func endsOf(sentences []tokenize.Sentence) (ends []int) {
	for at, i := 0, 0; i+1 < len(sentences); i++ {
		if at += len(sentences[i].Text); at > 0 {
			ends = append(ends, at)
		}
		at += len(sentences[i].Gap)
	}
	return ends
}

// cutOutside cuts a text at the places that lie in no span: what is kept stays whole. Both are in rising order.
func cutOutside(text string, ends []int, spans [][2]int) []tokenize.Sentence {
	return tokenize.Cut(text, slices.DeleteFunc(ends, func(end int) bool {
		for len(spans) > 0 && spans[0][1] <= end {
			spans = spans[1:]
		}
		return len(spans) > 0 && spans[0][0] < end
	}))
}

// shifted are spans n bytes later.
func shifted(spans [][2]int, n int) (later [][2]int) {
	for _, s := range spans {
		later = append(later, [2]int{s[0] + n, s[1] + n})
	}
	return later
}

// within are the spans between two places of a text, counted from the first of these. They are in rising order.
func within(spans [][2]int, from, to int) (inside [][2]int) {
	first, _ := slices.BinarySearchFunc(spans, from, func(s [2]int, from int) int { return s[0] - from })
	for _, s := range spans[first:] {
		if s[1] > to {
			break
		}
		inside = append(inside, [2]int{s[0] - from, s[1] - from})
	}
	return inside
}

// joined are the translations of a text, given those of its pieces: the best of all, the second best of all, and so on,
// where a piece that has fewer gives its last. Sentences between which the source has no space, as in Chinese, get one
// where the target language is written with spaces.
func joined(pieces []piece, o decode.Options, spaced bool) (out []Translation) {
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
				w := written{Translation: p.empty(o)}
				if len(p.found) > 0 {
					w = p.found[min(rank, len(p.found)-1)]
				}
				glued := w.Text != "" && endsInWord(text.String())
				if glued && spaced {
					text.WriteByte(' ')
				}
				text.WriteString(w.Text)
				if tokens.Len() > 0 && w.Tokenised != "" {
					tokens.WriteByte(' ')
				}
				tokens.WriteString(w.Tokenised)
				x.Score += w.Score
				logProb, symbols = logProb+w.logProb, symbols+w.symbols
				if w.Details != nil {
					x.addWords(w.Details, p, glued && !spaced)
				}
			}
			text.WriteString(p.gap)
		}
		x.Text, x.Tokenised = text.String(), tokens.String()
		if symbols > 0 && x.Details != nil && !math.IsNaN(x.Details.Confidence) {
			x.Details.Confidence = math.Exp(logProb / float64(symbols))
		}
		out = append(out, x)
	}
	return out
}

// spaced reports whether a language has spaces between its sentences.
func spaced(code string) bool {
	tag, err := language.Parse(code)
	base, _ := tag.Base()
	return err != nil || !slices.Contains([]string{"zh", "ja", "yue"}, base.String())
}

// endsInWord reports whether the next word of a text would go on with its last one.
func endsInWord(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return text != "" && !unicode.IsSpace(last)
}

// addWords adds the words of a piece; glued says that the first one goes on with the last one of the piece before. A
// word that stands for the piece's code stands for none of the text.
func (x *Translation) addWords(d *Details, p piece, glued bool) {
	before := p.words
	if p.coded {
		before--
	}
	if x.Details == nil {
		x.Details = &Details{Confidence: 1}
	}
	x.Details.Confidence *= d.Confidence // NaN where one of them is
	for i, w := range d.Words {
		source := w.Source
		w.Source = nil
		for _, at := range source {
			if at += before; at >= p.words {
				w.Source = append(w.Source, at)
			}
		}
		if last := len(x.Details.Words) - 1; i == 0 && glued && last >= 0 {
			all := &x.Details.Words[last]
			all.Text, all.Confidence = all.Text+w.Text, all.Confidence*w.Confidence
			all.Source = slices.Compact(append(all.Source, w.Source...))
			continue
		}
		x.Details.Words = append(x.Details.Words, w)
	}
}
