package translation

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize/align"
)

// longestAligned bounds the words of a sentence that the lexicon is learnt from: the possible links of a pair are the product of its
// lengths, and those of a page that stands on one line would take longer than the rest of the text.
const longestAligned = 250

// learnLexicon aligns the tokenised words of raw training text in both directions, and keeps the most frequent translation of each
// source word.
func (p *Pair) learnLexicon(source, target []string) error {
	c := &align.Corpus{}
	for i, line := range source {
		from, to := strings.Fields(p.Source.Tokenize(line)), strings.Fields(p.Target.Tokenize(target[i]))
		if len(from) <= longestAligned && len(to) <= longestAligned {
			c.Add(from, to)
		}
	}
	forward, backward := align.Recommended(), align.Recommended()
	backward.Reverse = true
	links := align.Align(c, forward)
	for i, other := range align.Align(c, backward) {
		links[i] = align.GrowDiagFinalAnd(links[i], other)
	}
	var err error
	p.Lexicon, err = align.LearnLexicon(c, links)
	return err
}

// lexiconPath is the file of the lexicon in a tokenizer folder.
func (p *Pair) lexiconPath(folder string) string {
	return filepath.Join(folder, "lexicon."+p.Source.Language+"-"+p.Target.Language)
}

func (p *Pair) saveLexicon(folder string) error {
	var b bytes.Buffer
	if err := p.Lexicon.Write(&b); err != nil {
		return err
	}
	return files.Write(p.lexiconPath(folder), b.Bytes())
}
