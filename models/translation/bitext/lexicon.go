package bitext

import (
	"strings"

	"github.com/aperture-ml/aperture/tokenize/align"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// longestAligned bounds the words of a sentence that the lexicon is learnt from: the possible links of a pair are the
// product of its lengths, and those of a page that stands on one line would take longer than the rest of the text.
const longestAligned = 250

// learnLexicon aligns the tokenised words of raw training text in both directions, and keeps the most frequent
// translation of each source word.
func (p *Sides) learnLexicon(text corpus.Parallel) error {
	c := &align.Corpus{}
	worker := func() (func([][]string) ([][2][]string, error), error) {
		return func(lines [][]string) ([][2][]string, error) {
			var words [][2][]string
			for i, line := range lines[0] {
				from, to := strings.Fields(p.Source.Tokenize(line)), strings.Fields(p.Target.Tokenize(lines[1][i]))
				if len(from) <= longestAligned && len(to) <= longestAligned {
					words = append(words, [2][]string{from, to})
				}
			}
			return words, nil
		}, nil
	}
	err := corpus.Blocks([]corpus.Text{text.Source, text.Target}, worker, func(words [][2][]string) error {
		for _, w := range words {
			c.Add(w[0], w[1])
		}
		return nil
	})
	if err != nil {
		return err
	}
	forward, backward := align.Recommended(), align.Recommended()
	backward.Reverse = true
	links := align.Align(c, forward)
	for i, other := range align.Align(c, backward) {
		links[i] = align.GrowDiagFinalAnd(links[i], other)
	}
	p.Lexicon, err = align.LearnLexicon(c, links)
	return err
}

// lexiconFile is the file of the lexicon in a tokenizer folder.
func (p *Sides) lexiconFile() string {
	return "lexicon." + p.Source.Language + "-" + p.Target.Language
}
