package translation

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize"
)

// symbols are those of a hypothesis, given the symbols of its source: with unknown words replaced, and changed after,
// as the options say.
func (t *Translator) symbols(source []string, h decode.Hypothesis, o decode.Options) []string {
	symbols := t.Text.Target.Vocabulary.Decode(h.IDs)
	paper := o.Rewriting() == "paper"
	for j := range h.Alignment {
		if o.Alignment && h.IDs[j] == tokenize.Unk {
			symbols[j] = t.Text.Target.Word(known(t.Text, source, j, h.Alignment[j], h.Second[j]))
		}
		if paper {
			next := ""
			if j+1 < len(symbols) {
				next = symbols[j+1]
			}
			symbols[j] = rewriteNumber(symbols[j], next, sourceWord(t.Text, source, h.Alignment[j]))
		}
	}
	return symbols
}

// known is what stands for the unknown word at a place of the output: the lexicon's translation of the source word that
// it attended to most, or that word itself where the lexicon does not have it.
//
// With a lexicon the second word of the attention takes the place of the first where that is a comma or a full stop, or
// further than half a sentence away, as in the program of Kumar and Tsvetkov (2019). Without one the first is copied in
// any case.
func known(p *bitext.Sides, source []string, place, best, second int) string {
	if p.Lexicon == nil {
		return sourceWord(p, source, best)
	}
	far := max(best-place, place-best)*2 > len(source)
	if mark := source[best]; second >= 0 && (mark == "," || mark == "." || far) {
		best = second
	}
	word := sourceWord(p, source, best)
	if translated, found := p.Lexicon.Word(word); found {
		return translated
	}
	return word
}

// sourceWord is the whole word that a source symbol belongs to.
func sourceWord(p *bitext.Sides, symbols []string, place int) string {
	first, last := place, place
	for first > 0 && p.Source.Joined(symbols[first-1], symbols[first]) {
		first--
	}
	for last < len(symbols)-1 && p.Source.Joined(symbols[last], symbols[last+1]) {
		last++
	}
	return p.Source.Join(slices.Clone(symbols[first : last+1]))
}

var (
	decimal = regexp.MustCompile(`[0-9][.,][0-9]`)
	swapped = strings.NewReplacer(".", ",", ",", ".")
)

// rewriteNumber is what the program of Kumar and Tsvetkov (2019) makes of a number or a percent sign; its paper does
// not tell of it. A number with a point or comma becomes the source word that it attended to, point and comma changed
// for each other, or a point for a colon before a.m. and p.m.; a percent sign that attended to the German word becomes
// the English one.
func rewriteNumber(symbol, next, source string) string {
	switch {
	case symbol == "%" && source == "Prozent":
		return "percent"
	case !decimal.MatchString(symbol):
		return symbol
	case next == "a.m." || next == "p.m.":
		return strings.ReplaceAll(source, ".", " : ")
	}
	return swapped.Replace(source)
}
