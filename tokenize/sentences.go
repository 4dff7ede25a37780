package tokenize

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SentenceSplitter finds where sentences end in running text. It is immutable and safe for concurrent use.
type SentenceSplitter struct {
	prefixes map[string]prefixKind
	french   bool // a quote that closes has a space before it
}

// NewSentenceSplitter prepares for a language: the words that keep their full stop are those of its Moses tokenizer.
func NewSentenceSplitter(language string) *SentenceSplitter {
	prefixes, _ := nonBreakingPrefixes(language, MosesCurrent)
	return &SentenceSplitter{prefixes, language == "fr"}
}

// Sentence is a piece of a text: a sentence, and what stands between it and the next. Joined in order they are the
// text.
type Sentence struct {
	Text string // without white space at its ends; empty where the text begins with white space
	Gap  string // white space
}

// Split cuts a line into its sentences.
//
// A sentence ends behind a full stop, a question or exclamation mark or an ellipsis, several of them, and the quotes
// and brackets that close behind them, where white space follows, and then a letter that is not in lower case, a digit,
// or a quote or bracket that opens. A full stop behind an abbreviation of the language, behind a German number or
// behind a capital that stands by itself ends no sentence. Chinese and Japanese stops need no white space.
func (s *SentenceSplitter) Split(line string) []Sentence {
	var ends []int
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		if !isStop(r) {
			i += size
			continue
		}
		end := i + size
		wide := wideStop(r)
		for end < len(line) { // more stops, and what closes behind them
			next, n := utf8.DecodeRuneInString(line[end:])
			if !isStop(next) && !closes(next) {
				break
			}
			wide = wide || wideStop(next)
			end += n
		}
		after := strings.TrimLeftFunc(line[end:], unicode.IsSpace)
		if behind, quoted := strings.CutPrefix(after, "»"); quoted && s.french {
			end = len(line) - len(behind)
			after = strings.TrimLeftFunc(behind, unicode.IsSpace)
		}
		gap := len(after) < len(line)-end
		switch {
		case after == "":
		case wide, gap && begins(after) && !(line[i] == '.' && end == i+1 && s.keepsStop(line[:i], after)):
			ends = append(ends, end)
		}
		i = end
	}
	return Cut(line, ends)
}

// keepsStop reports whether the full stop behind before belongs to its last word.
func (s *SentenceSplitter) keepsStop(before, after string) bool {
	at := strings.LastIndexFunc(before, unicode.IsSpace) + 1
	word := strings.TrimLeftFunc(before[at:], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	switch s.prefixes[word] {
	case alwaysPrefix:
		return true
	case numericPrefix:
		r, _ := utf8.DecodeRuneInString(after)
		return unicode.IsDigit(r)
	}
	r, size := utf8.DecodeRuneInString(word)
	initials := strings.Contains(word, ".") && !strings.ContainsAny(word, "0123456789") // "U.S", "e.g"
	return size == len(word) && unicode.IsUpper(r) || initials && utf8.RuneCountInString(word) <= 5
}

// Cut makes sentences of a line that end at the given places, in rising order.
func Cut(line string, ends []int) (out []Sentence) {
	from, gap := 0, 0 // where the piece at hand begins, and the white space before it
	for _, end := range append(slices.Clip(ends), len(line)) {
		text := strings.TrimLeftFunc(line[from:end], unicode.IsSpace)
		begin := end - len(text)
		if begin > from {
			if len(out) == 0 {
				out = append(out, Sentence{})
			}
			out[len(out)-1].Gap = line[gap:begin]
		}
		if text != "" {
			trimmed := strings.TrimRightFunc(text, unicode.IsSpace)
			gap = begin + len(trimmed)
			out = append(out, Sentence{trimmed, line[gap:end]})
		}
		from = end
	}
	return out
}

// Halve cuts a sentence in two, which are Sentences of it: at the punctuation nearest its middle that white space
// follows, where there is any in the middle half, or else at the white space nearest the middle. Without white space it
// is left whole.
func Halve(text string) []Sentence {
	best, bestCost := -1, 0
	for i, r := range text {
		if !unicode.IsSpace(r) || i == 0 {
			continue
		}
		cost := max(i-len(text)/2, len(text)/2-i)
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		if !unicode.IsPunct(before) || cost > len(text)/4 {
			cost += len(text)
		}
		if best < 0 || cost < bestCost {
			best, bestCost = i, cost
		}
	}
	if best < 0 {
		return Cut(text, nil)
	}
	return Cut(text, []int{best})
}

func isStop(r rune) bool { return strings.ContainsRune(".?!…。！？｡؟۔।", r) }

// wideStop reports whether a stop needs no white space behind it.
func wideStop(r rune) bool { return strings.ContainsRune("。！？｡", r) }

func closes(r rune) bool {
	return unicode.In(r, unicode.Pe, unicode.Pf) || r == '"' || r == '\'' || r == '“' || r == '»' || r == '«'
}

// begins reports whether a text can be the beginning of a sentence.
func begins(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(r) && !unicode.IsLower(r) || unicode.IsDigit(r) || strings.ContainsRune(`"'¿¡—–-•*`, r) ||
		unicode.In(r, unicode.Ps, unicode.Pi, unicode.Pf)
}
