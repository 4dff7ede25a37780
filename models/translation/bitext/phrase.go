package bitext

import (
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/spm"
)

// Phrase is Tokenize of words from the middle of a sentence: the case of the first is not that of a sentence's first
// word.
func (s *Side) Phrase(text string) []string {
	if s.truecaser == nil {
		return strings.Fields(s.Tokenize(text))
	}
	const before = "x"
	words := strings.Fields(s.Tokenize(before + " " + text))
	return words[min(1, len(words)):]
}

// Words are the words of a tokenised line in which terms are looked for: its tokens, or, where the run does not
// tokenise, those that Moses makes.
func (s *Side) Words(tokenised string) []string {
	if s.moses == nil {
		if m, err := tokenize.NewMoses(tokenize.MosesOptions{Language: s.Language, NoEscape: true}); err == nil {
			tokenised = m.Tokenize(tokenised)
		}
	}
	return strings.Fields(tokenised)
}

// Cased is text in the case that the run's output can have.
func (s *Side) Cased(text string) string {
	if s.lowercase {
		text = tokenize.Lowercase(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// Joined reports whether two symbols side by side have no space between them.
func (s *Side) Joined(before, after string) bool {
	if s.pieces != nil {
		return s.pieces.joined(before, after)
	}
	return s.bpe != nil && strings.HasSuffix(before, tokenize.DefaultSeparator)
}

// Within reports whether two symbols side by side belong to one word, between which no phrase begins or ends. The
// pieces of SentencePiece have punctuation that touches words, which is none of theirs.
func (s *Side) Within(before, after string) bool {
	if s.pieces != nil {
		return s.pieces.within(before, after)
	}
	return s.Joined(before, after)
}

// Word is text that stands in place of an unknown symbol, as a symbol.
func (s *Side) Word(text string) string {
	if s.pieces != nil {
		return spm.Space + text
	}
	return text
}
