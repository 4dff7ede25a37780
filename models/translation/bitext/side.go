package bitext

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/tokenize"
)

// Side is one language's way from a raw line to ids and back. Its methods may be called from several goroutines at
// once.
type Side struct {
	Language   string
	Vocabulary *tokenize.Vocabulary

	lowercase   bool
	opus        bool                  // prepare lines as OPUS-MT does
	normalizer  *tokenize.Normalizer  // nil leaves punctuation as it is
	moses       *tokenize.Moses       // nil leaves words as spaces separate them
	truecaser   *tokenize.Truecaser   // nil leaves the case as it is
	detokenizer *tokenize.Detokenizer // nil where moses is
	codes       *tokenize.Codes       // nil where words are not split
	units       *tokenize.WordCounts  // unit counts behind a vocabulary threshold, or nil
	threshold   int                   // of those counts
	bpe         *tokenize.BPE
	splitting   sync.Mutex // held while bpe splits words: it keeps a cache of them
	pieces      *pieces    // splits raw text in place of moses and codes; nil where none does
}

func newSide(d TextSettings, language string) (*Side, error) {
	s := &Side{Language: language, lowercase: d.Lowercase, opus: d.OPUS}
	version := tokenize.MosesVersion(d.Tokenize)
	if d.Normalize {
		s.normalizer = tokenize.NewNormalizer(language, version)
	}
	if d.Tokenize == "none" {
		return s, nil
	}
	var err error
	s.moses, err = tokenize.NewMoses(tokenize.MosesOptions{Language: language, Aggressive: d.Aggressive,
		NoEscape: !d.Escape, Version: version})
	s.detokenizer = tokenize.NewDetokenizer(language)
	return s, err
}

// Tokenize returns a raw line as words joined by single spaces: what byte-pair
// encoding reads and what tokenised BLEU is computed on. For SentencePiece, which
// has its own idea of spaces, it normalises alone.
func (s *Side) Tokenize(line string) string {
	if s.lowercase {
		line = tokenize.Lowercase(line)
	}
	if s.opus {
		line = tokenize.NormalizeOPUS(line)
	}
	if s.normalizer != nil {
		line = s.normalizer.Normalize(line)
	}
	if s.moses != nil {
		line = s.moses.Tokenize(line)
	}
	if s.truecaser != nil {
		line = s.truecaser.Truecase(line)
	}
	if s.pieces != nil || singleSpaced(line) {
		return line
	}
	return strings.Join(strings.Fields(line), " ")
}

// singleSpaced reports whether a line is its fields joined by spaces already, as it is behind the Moses tokenizer.
func singleSpaced(line string) bool {
	previous := byte(' ')
	for i := 0; i < len(line); i++ {
		b := line[i]
		switch {
		case b == ' ' && previous == ' ', b >= '\t' && b <= '\r':
			return false
		case b == 0xc2 || b >= 0xe1 && b <= 0xe3: // all other spaces begin with one of these
			if r, _ := utf8.DecodeRuneInString(line[i:]); unicode.IsSpace(r) {
				return false
			}
		}
		previous = b
	}
	return line == "" || previous != ' '
}

// Units returns the symbols of a tokenised line.
func (s *Side) Units(tokenised string) []string {
	if s.pieces != nil {
		return s.pieces.split(tokenised, s.Vocabulary)
	}
	words := strings.Fields(tokenised)
	if s.bpe == nil {
		return words
	}
	s.splitting.Lock()
	defer s.splitting.Unlock()
	return s.bpe.Words(words)
}

// AtLeast is a number of symbols that a tokenised line has at least, found without splitting its words.
func (s *Side) AtLeast(tokenised string) int {
	if s.pieces != nil {
		return 0
	}
	return strings.Count(tokenised, " ") + 1
}

// Encode returns the ids of a raw line, without the end of sentence.
func (s *Side) Encode(line string) []int32 {
	return s.Vocabulary.Encode(s.Units(s.Tokenize(line)))
}

// Tokens returns ids as a tokenised line, units joined to words.
func (s *Side) Tokens(ids []int32) string {
	return s.Join(s.Vocabulary.Decode(ids))
}

// Join returns symbols as a tokenised line, units joined to words.
func (s *Side) Join(symbols []string) string {
	if s.pieces != nil {
		return s.pieces.join(symbols)
	}
	line := strings.Join(symbols, " ")
	if s.bpe == nil {
		return line
	}
	return tokenize.UndoBPE(line, tokenize.DefaultSeparator)
}

// Raw returns a tokenised line as running text.
func (s *Side) Raw(tokenised string) string {
	if s.truecaser != nil {
		tokenised = tokenize.Detruecase(tokenised)
	}
	if s.detokenizer == nil {
		return tokenised
	}
	return s.detokenizer.Detokenize(tokenised)
}
