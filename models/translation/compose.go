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
func tokensOf(side *bitext.Side, symbols []string) []token {
	parts := make([]token, len(symbols))
	for i, symbol := range symbols {
		parts[i] = token{symbol, i, i + 1}
	}
	return wordsOf(side, parts)
}

// wordsOf are the words of parts, each of which is a symbol or stands for some. A word of nothing but a space goes into
// the next one, at the end into the one before.
func wordsOf(side *bitext.Side, parts []token) (out []token) {
	for i := 0; i < len(parts); {
		end, text := i+1, ""
		for {
			for end < len(parts) && side.Joined(parts[end-1].text, parts[end].text) {
				end++
			}
			if text = side.Join(texts(parts[i:end])); text != "" || end == len(parts) {
				break
			}
			end++
		}
		last := parts[end-1].end
		if text == "" && len(out) > 0 {
			out[len(out)-1].end = last
		} else {
			out = append(out, token{text, parts[i].first, last})
		}
		i = end
	}
	return out
}

// lineOf is what tokens make as a tokenised line, given the parts that they were made of. Pieces of SentencePiece know
// better than words which spaces a line has.
func lineOf(side *bitext.Side, tokens, parts []token) string {
	var kept []string
	for _, p := range parts {
		for len(tokens) > 0 && tokens[0].end <= p.first {
			tokens = tokens[1:]
		}
		if len(tokens) > 0 && tokens[0].first <= p.first {
			kept = append(kept, p.text)
		}
	}
	return side.Join(kept)
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
	side := t.Text.Target
	var parts []token
	for i, symbol := range t.symbols(source, h, o) {
		parts = append(parts, token{symbol, i, i + 1})
	}
	tokens = compact(wordsOf(side, parts), o)
	text = side.Raw(lineOf(side, tokens, parts))
	if d.met(text) {
		return text, tokens
	}
	spans := t.locate(h.IDs, d)
	var replace []string
	var written []token
	used := rune(0)
	for i := 0; i < len(parts); {
		at := slices.IndexFunc(spans, func(s span) bool { return s.first == i })
		if at < 0 {
			written = append(written, parts[i])
			i++
			continue
		}
		in := ""
		for ; in == "" || strings.Contains(text, in); used++ {
			in = tokenize.StandIn(spans[at].text, used)
		}
		word := in
		if i == 0 || !side.Joined(parts[i-1].text, parts[i].text) {
			word = side.Word(word)
		}
		written = append(written, token{word, i, spans[at].end})
		replace = append(replace, in, spans[at].text)
		i = spans[at].end
	}
	tokens = compact(wordsOf(side, written), o)
	put := strings.NewReplacer(replace...)
	text = put.Replace(side.Raw(lineOf(side, tokens, written)))
	for i, x := range tokens {
		tokens[i].text = put.Replace(x.text)
	}
	return text, tokens
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
	within := t.within()
	for _, p := range phrases {
		for i := 0; i+len(p.ids) <= len(ids); i++ {
			end := i + len(p.ids)
			taken := slices.ContainsFunc(spans, func(s span) bool { return i < s.end && s.first < end })
			if taken || !slices.Equal(ids[i:end], p.ids) || i > 0 && within(ids[i-1], ids[i]) ||
				end < len(ids) && within(ids[end-1], ids[end]) {
				continue
			}
			spans = append(spans, span{i, end, p.text})
			break
		}
	}
	return spans
}

// within reports whether two ids of the target side by side belong to one word.
func (t *Translator) within() func(before, after int32) bool {
	side := t.Text.Target
	return func(before, after int32) bool {
		return side.Within(side.Vocabulary.Token(before), side.Vocabulary.Token(after))
	}
}

// constraints are those of sources, with what the search has to know of words.
func (t *Translator) constraints(demands []demand) decode.Constraints {
	c := decode.Constraints{Joined: t.within(), Close: tokenize.Unk}
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
