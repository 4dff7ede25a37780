package bitext

import (
	"strings"

	"github.com/aperture-ml/aperture/tokenize/align"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// longestAligned bounds the words of a sentence that is aligned: the possible links of a pair are the product of its
// lengths, and those of a page that stands on one line would take longer than the rest of the text.
const longestAligned = 250

// learnLexicon aligns the tokenised words of raw training text, and keeps the most frequent translation of each source
// word.
func (p *Sides) learnLexicon(text corpus.Parallel) error {
	c, links, err := p.align(text, func(s *Side, line string) []string { return strings.Fields(s.Tokenize(line)) })
	if err == nil {
		p.Lexicon, err = align.LearnLexicon(c, links)
	}
	return err
}

// LearnShortlist aligns the symbols of raw parallel text. It keeps the `always` most frequent symbols of the target,
// and of each symbol of the source the `best` that it is linked to most often.
func (p *Sides) LearnShortlist(text corpus.Parallel, always, best int) (*align.Shortlist, error) {
	c, links, err := p.align(text, func(s *Side, line string) []string { return s.Vocabulary.Decode(s.Encode(line)) })
	if err != nil {
		return nil, err
	}
	return align.LearnShortlist(c, links, always, best)
}

// align aligns units of raw text in both directions, and joins the links.
func (p *Sides) align(text corpus.Parallel, units func(s *Side, line string) []string) (*align.Corpus, [][]align.Link,
	error) {
	c := &align.Corpus{}
	worker := func() (func([][]string) ([][2][]string, error), error) {
		return func(lines [][]string) ([][2][]string, error) {
			var pairs [][2][]string
			for i, line := range lines[0] {
				from, to := units(p.Source, line), units(p.Target, lines[1][i])
				if len(from) <= longestAligned && len(to) <= longestAligned {
					pairs = append(pairs, [2][]string{from, to})
				}
			}
			return pairs, nil
		}, nil
	}
	err := corpus.Blocks([]corpus.Text{text.Source, text.Target}, worker, func(pairs [][2][]string) error {
		for _, pair := range pairs {
			c.Add(pair[0], pair[1])
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	forward, backward := align.Recommended(), align.Recommended()
	backward.Reverse = true
	links := align.Align(c, forward)
	for i, other := range align.Align(c, backward) {
		links[i] = align.GrowDiagFinalAnd(links[i], other)
	}
	return c, links, nil
}

// lexiconFile is the file of the lexicon in a tokenizer folder.
func (p *Sides) lexiconFile() string {
	return "lexicon." + p.Source.Language + "-" + p.Target.Language
}
