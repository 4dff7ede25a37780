package translation

import (
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize"
)

// token is a word of a tokenised line, and the symbols from first to before end that it is made of.
type token struct {
	text       string
	first, end int
}

// tokensOf are the words that symbols of a side make.
func tokensOf(side *bitext.Side, symbols []string) (out []token) {
	for i := 0; i < len(symbols); {
		end := i + 1
		for end < len(symbols) && side.Joined(symbols[end-1], symbols[end]) {
			end++
		}
		out = append(out, token{side.Join(slices.Clone(symbols[i:end])), i, end})
		i = end
	}
	return out
}

// compact leaves repeated words out, where the options ask for it.
func compact(tokens []token, o decode.Options) []token {
	if o.Rewriting() != "paper" {
		return tokens
	}
	return slices.CompactFunc(tokens, func(a, b token) bool { return a.text == b.text })
}

func joinTokens(tokens []token) string {
	texts := make([]string, len(tokens))
	for i, x := range tokens {
		texts[i] = x.text
	}
	return strings.Join(texts, " ")
}

// compose is a hypothesis as running text that holds what is demanded, to the letter, and its words. Where the text
// path changes a demanded text (spaces, case, a word that the vocabulary does not have), the text is put in its place
// after it.
func (t *Translator) compose(
	source []string, h decode.Hypothesis, d demand, o decode.Options,
) (text string, tokens []token) {
	plain := tokensOf(t.Text.Target, t.symbols(source, h, o))
	tokens = compact(slices.Clone(plain), o)
	text = t.Text.Target.Raw(joinTokens(tokens))
	if d.met(text) {
		return text, tokens
	}
	spans := t.locate(h.IDs, d)
	standIn := rune(0xF0000) // of a private-use area: a word that detokenising leaves alone
	var replace []string
	var written []token
	for i := 0; i < len(plain); {
		at := slices.IndexFunc(spans, func(s span) bool { return s.first == plain[i].first })
		if at < 0 {
			written = append(written, plain[i])
			i++
			continue
		}
		for strings.ContainsRune(text, standIn) {
			standIn++
		}
		written = append(written, token{string(standIn), spans[at].first, spans[at].end})
		replace = append(replace, string(standIn), spans[at].text)
		standIn++
		for i < len(plain) && plain[i].first < spans[at].end {
			i++
		}
	}
	written = compact(written, o)
	text = strings.NewReplacer(replace...).Replace(t.Text.Target.Raw(joinTokens(written)))
	for i, x := range written {
		if at := slices.Index(replace, x.text); at >= 0 && at%2 == 0 {
			written[i].text = replace[at+1]
		}
	}
	return text, written
}

// met reports whether a text holds what is demanded.
func (d demand) met(text string) bool {
	if d.prefix != nil && !strings.HasPrefix(text, d.prefix.text) {
		return false
	}
	counts := map[string]int{}
	for _, p := range d.phrases {
		counts[p.text]++
	}
	if d.prefix != nil {
		text = text[len(d.prefix.text):]
	}
	for words, n := range counts {
		if tokenize.CountWords(text, words) < n {
			return false
		}
	}
	return true
}

// span is where a demanded text stands, in symbols from first to before end.
type span struct {
	first, end int
	text       string
}

// locate finds the demanded phrases among ids, the prefix first and then the longer ones, none overlapping.
func (t *Translator) locate(ids []int32, d demand) (spans []span) {
	if d.prefix != nil {
		spans = append(spans, span{0, len(d.prefix.ids), d.prefix.text})
	}
	phrases := slices.Clone(d.phrases)
	slices.SortStableFunc(phrases, func(a, b phrase) int { return len(b.ids) - len(a.ids) })
	joined := t.joined()
	for _, p := range phrases {
		for i := 0; i+len(p.ids) <= len(ids); i++ {
			end := i + len(p.ids)
			taken := slices.ContainsFunc(spans, func(s span) bool { return i < s.end && s.first < end })
			if taken || !slices.Equal(ids[i:end], p.ids) || i > 0 && joined(ids[i-1], ids[i]) ||
				end < len(ids) && joined(ids[end-1], ids[end]) {
				continue
			}
			spans = append(spans, span{i, end, p.text})
			break
		}
	}
	return spans
}

// joined reports whether two ids of the target side by side belong to one word.
func (t *Translator) joined() func(before, after int32) bool {
	side := t.Text.Target
	return func(before, after int32) bool {
		return side.Joined(side.Vocabulary.Token(before), side.Vocabulary.Token(after))
	}
}

// constraints are those of sources, with what the search has to know of words.
func (t *Translator) constraints(demands []demand) decode.Constraints {
	c := decode.Constraints{Joined: t.joined(), Close: tokenize.Unk}
	for id := range int32(t.Text.Target.Vocabulary.Len()) {
		if id > tokenize.Unk && !c.Joined(id, id) {
			c.Close = id
			break
		}
	}
	for _, d := range demands {
		c.Of = append(c.Of, d.constraint())
	}
	return c
}
