package bitext

import (
	"fmt"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Coverage says how well a vocabulary that was made for other text suits one language's side of pairs.
type Coverage struct {
	Language string
	Words    int
	Split    int // words of two symbols or more
	Symbols  int
	Unknown  int // symbols that the vocabulary lacks
}

func (c Coverage) String() string {
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
	return fmt.Sprintf("of %d %s words %.3g %% are in pieces, and of %d symbols %.3g %% are <unk>", c.Words,
		c.Language, share(c.Split, c.Words), c.Symbols, share(c.Unknown, c.Symbols))
}

// Cover counts words and symbols of encoded pairs.
func (p *Sides) Cover(pairs corpus.Pairs) (source, target Coverage) {
	source.Language, target.Language = p.Source.Language, p.Target.Language
	for i := range pairs.Len() {
		pair := pairs.At(i)
		p.Source.cover(&source, pair.Source)
		p.Target.cover(&target, pair.Target)
	}
	return source, target
}

func (s *Side) cover(c *Coverage, ids []int32) {
	c.Symbols += len(ids)
	length := 0 // of the word so far, in symbols
	for i, id := range ids {
		if id == tokenize.Unk {
			c.Unknown++
		}
		if i > 0 && s.Joined(s.Vocabulary.Token(ids[i-1]), s.Vocabulary.Token(id)) {
			if length++; length == 2 {
				c.Split++
			}
			continue
		}
		c.Words, length = c.Words+1, 1
	}
}
