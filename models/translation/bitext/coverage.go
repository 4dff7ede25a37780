package bitext

import (
	"fmt"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Coverage says how well a vocabulary that was made for other text suits one language's side of a text.
type Coverage struct {
	Language string
	Words    int
	Split    int // words of two symbols or more
	Symbols  int
	Unknown  int // symbols that the vocabulary lacks
}

func (c Coverage) String() string {
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
	return fmt.Sprintf("of %d %s words %.3g %% are in pieces, and of %d symbols %.3g %% are <unk>", c.Words, c.Language,
		share(c.Split, c.Words), c.Symbols, share(c.Unknown, c.Symbols))
}

// Cover counts the words and symbols of raw text.
func (p *Sides) Cover(text corpus.Parallel) (source, target Coverage, err error) {
	if source, err = p.Source.cover(text.Source); err == nil {
		target, err = p.Target.cover(text.Target)
	}
	return source, target, err
}

func (s *Side) cover(text corpus.Text) (Coverage, error) {
	c := Coverage{Language: s.Language}
	words, err := s.count(text)
	if err != nil {
		return c, err
	}
	for word, n := range words.All() {
		units := s.Units(word)
		c.Words, c.Symbols = c.Words+n, c.Symbols+n*len(units)
		if len(units) > 1 {
			c.Split += n
		}
		for _, unit := range units {
			if s.Vocabulary.ID(unit) == tokenize.Unk {
				c.Unknown += n
			}
		}
	}
	return c, nil
}
