package translation

import (
	"fmt"

	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Lines are raw parallel text, a sentence and its translation at each place.
type Lines struct {
	Name           string
	Source, Target []string
}

// Texts are the corpus of a translator, raw and, after Encode, as ids.
type Texts struct {
	Train, Valid Lines
	Tests        []Lines

	TrainPairs, ValidPairs []corpus.Pair
	Filtered               corpus.FilterReport // what Encode left out of the training text
}

// Encode turns the texts for training and validation into ids. Training pairs outside the limits, and those longer than the
// network's positions, are left out; a line of another text that is longer is an error, since what is translated for a score is
// not left out of it.
func (t *Texts) Encode(p *Pair, limits corpus.Limits, positions int) error {
	for _, lines := range append([]Lines{t.Valid}, t.Tests...) {
		for _, pair := range p.encode(lines) {
			n, language := len(pair.Source), p.Source.Language
			if len(pair.Target) > n {
				n, language = len(pair.Target), p.Target.Language
			}
			if n >= positions {
				return fmt.Errorf("%s.%s:%d: this line has %d symbols with its end, more than model.max_positions (%d): raise that, or split the line", lines.Name, language, pair.Line, n+1, positions)
			}
		}
	}
	if limits.MaxLength == 0 || limits.MaxLength > positions-1 {
		limits.MaxLength = positions - 1
	}
	var err error
	if t.TrainPairs, t.Filtered, err = corpus.Filter(p.encode(t.Train), limits); err != nil {
		return fmt.Errorf("training text: %w", err)
	}
	if t.ValidPairs, _, err = corpus.Filter(p.encode(t.Valid), corpus.Limits{MaxLength: positions - 1}); err != nil {
		return fmt.Errorf("validation text: %w", err)
	}
	return nil
}

// TestPairs are the pairs of a text that Encode has checked.
func (p *Pair) TestPairs(lines Lines) ([]corpus.Pair, error) {
	pairs, _, err := corpus.Filter(p.encode(lines), corpus.Limits{})
	if err != nil {
		return nil, fmt.Errorf("test text %s: %w", lines.Name, err)
	}
	return pairs, nil
}

func (p *Pair) encode(lines Lines) []corpus.Pair {
	return corpus.Encode(lines.Source, lines.Target, p.Source.Encode, p.Target.Encode)
}

// Tokens counts the target tokens of an epoch, ends of sentences included.
func (t *Texts) Tokens() (n int) {
	for _, p := range t.TrainPairs {
		n += len(p.Target) + 1
	}
	return n
}
