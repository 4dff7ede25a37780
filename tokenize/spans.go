package tokenize

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Span is a run of words, from First to Last, both included, counted from 0.
type Span struct{ First, Last int }

// WordSpans says which words of a raw line, as spaces separate them, each token comes from: First > Last where there is
// no word at all. The tokens are those of that line in their order: of Moses, with escapes or without, lower-cased or
// truecased, or of a line whose detokenised text is the raw one.
//
// It walks along the characters of both, spaces and case apart. Where normalisation has rewritten some, it goes on at
// the nearest place from which three characters agree; a token without any character of its own in the line belongs to
// the word where the walk stands.
func WordSpans(raw string, tokens []string) []Span {
	line := lettersOf(strings.Fields(raw), false)
	text := lettersOf(tokens, true)
	spans := make([]Span, len(tokens))
	for i := range spans {
		spans[i] = Span{0, -1}
	}
	if len(line) == 0 {
		return spans
	}
	add := func(token, word int) {
		s := &spans[token]
		if s.Last < s.First {
			*s = Span{word, word}
		}
		s.First, s.Last = min(s.First, word), max(s.Last, word)
	}
	i, j := 0, 0
	for j < len(text) {
		if i < len(line) && line[i].char == text[j].char {
			add(text[j].word, line[i].word)
			i, j = i+1, j+1
			continue
		}
		skipLine, skipText := resume(line[i:], text[j:])
		for k := range skipText { // written in place of what is skipped
			if t := text[j+k].word; spans[t].Last < spans[t].First {
				add(t, line[min(i+k*skipLine/skipText, len(line)-1)].word)
			}
		}
		i, j = i+skipLine, j+skipText
	}
	return spans
}

// letter is a character of a word, in lower case.
type letter struct {
	char rune
	word int
}

// lettersOf are the characters of words. Those of tokens are unescaped; the marks around a hyphen are no characters.
func lettersOf(words []string, tokens bool) (out []letter) {
	for i, word := range words {
		if tokens {
			if word == "@-@" {
				word = "-"
			}
			if strings.IndexByte(word, '&') >= 0 {
				word = unescapeMoses.Replace(word)
			}
		}
		for _, r := range word {
			if r = unicode.ToLower(r); r > ' ' && !unicode.IsSpace(r) {
				out = append(out, letter{r, i})
			}
		}
	}
	return out
}

// resumeWithin bounds how far two texts are looked through for a place where they agree again.
const resumeWithin = 64

// resume says how much to skip of two texts that begin with different characters, until three agree or both end. It
// skips as little as possible of both together; where nothing agrees, a character of each.
func resume(line, text []letter) (skipLine, skipText int) {
	agree := func(a, b int) bool {
		for k := range 3 {
			ended := a+k >= len(line)
			if ended != (b+k >= len(text)) || !ended && line[a+k].char != text[b+k].char {
				return false
			}
			if ended {
				return true
			}
		}
		return true
	}
	for sum := 1; sum <= resumeWithin; sum++ {
		for a := sum; a >= 0; a-- {
			if b := sum - a; a <= len(line) && b <= len(text) && agree(a, b) {
				return a, b
			}
		}
	}
	return min(1, len(line)), 1
}

// CountWords counts how often words stand in a line as whole words: where they begin or end with a letter, digit or
// mark of a letter, none touches them there. Occurrences do not overlap.
func CountWords(line, words string) (n int) {
	if words == "" {
		return 0
	}
	first, _ := utf8.DecodeRuneInString(words)
	last, _ := utf8.DecodeLastRuneInString(words)
	for from := 0; ; {
		at := strings.Index(line[from:], words)
		if at < 0 {
			return n
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(line[:at])
		after, _ := utf8.DecodeRuneInString(line[at+len(words):])
		if wordRune(first) && wordRune(before) || wordRune(last) && wordRune(after) {
			_, size := utf8.DecodeRuneInString(line[at:])
			from = at + size
			continue
		}
		n, from = n+1, at+len(words)
	}
}

// wordRune reports whether r is part of a word: utf8.RuneError, which stands at either end of a line, is not.
func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}
