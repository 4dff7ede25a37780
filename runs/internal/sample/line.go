package sample

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// leaf names the piece of meaning that a word expresses, in both languages
// alike: it is the alignment of the two.
type leaf struct {
	node int // id of the phrase, clause or sentence
	role role
}

type role int

const (
	isMark role = iota // punctuation
	isDeterminer
	isNoun
	isModifier
	isOf
	isRelative
	isVerb
	isFuture
	isNegation
	isParticle
	isQuestion
	isThat
	isAdverb
	isPreposition
	isConjunction
	isAdjective // and above: its place among the adjectives
)

type word struct {
	text string
	leaf leaf
}

// line collects the words and punctuation of a sentence.
type line struct{ words []word }

func (l *line) add(text string, node int, r role) {
	l.words = append(l.words, word{text, leaf{node, r}})
}

// comma separates clauses; two that meet are one.
func (l *line) comma() {
	if n := len(l.words); n > 0 && l.words[n-1].text != "," {
		l.add(",", 0, isMark)
	}
}

// finish ends the sentence and capitalises its first word.
func (l *line) finish(question bool) {
	if n := len(l.words); l.words[n-1].text == "," {
		l.words = l.words[:n-1]
	}
	mark := "."
	if question {
		mark = "?"
	}
	l.add(mark, 0, isMark)
	l.words[0].text = capital(l.words[0].text)
}

// length counts words without punctuation.
func (l *line) length() int {
	n := 0
	for _, w := range l.words {
		if w.leaf.role != isMark {
			n++
		}
	}
	return n
}

// raw writes the line as people do, punctuation attached to the word before.
func (l *line) raw() string {
	var b strings.Builder
	for i, w := range l.words {
		if i > 0 && w.leaf.role != isMark {
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
	}
	return b.String()
}

// tokens writes the line in lower case with spaces round punctuation.
func (l *line) tokens() string {
	texts := make([]string, len(l.words))
	for i, w := range l.words {
		texts[i] = strings.ToLower(w.text)
	}
	return strings.Join(texts, " ")
}

func capital(word string) string {
	first, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(first)) + word[size:]
}
