package translation

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/align"
)

// Pair are the two sides of a translation.
type Pair struct {
	Source, Target *Side
	Vectors        *vectors.Table // of the target's vocabulary, where a method aims at them
	Lexicon        *align.Lexicon // translates tokenised source words, where data.lexicon is on
	joint          bool
}

// Learn makes both sides from raw training text. Files of codes and vocabularies
// that the configuration names are used instead of being learnt.
func Learn(d TextSettings, source, target []string) (*Pair, error) {
	p, err := newPair(d)
	if err != nil {
		return nil, err
	}
	if d.Truecase {
		p.Source.learnCase(source)
		p.Target.learnCase(target)
	}
	sourceWords, targetWords := p.Source.count(source), p.Target.count(target)
	if err := p.learnCodes(d, sourceWords, targetWords); err != nil {
		return nil, err
	}
	for _, side := range []struct {
		*Side
		words *tokenize.WordCounts
	}{{p.Source, sourceWords}, {p.Target, targetWords}} {
		if side.codes == nil {
			continue
		}
		if d.VocabularyThreshold > 0 {
			if err := side.prepare(0); err != nil {
				return nil, err
			}
			side.units = side.segment(side.words)
		}
		if err := side.prepare(d.VocabularyThreshold); err != nil {
			return nil, err
		}
	}
	if d.Lexicon {
		if err := p.learnLexicon(source, target); err != nil {
			return nil, err
		}
	}
	return p, p.learnVocabularies(d, p.Source.segment(sourceWords), p.Target.segment(targetWords))
}

func newPair(d TextSettings) (*Pair, error) {
	source, err := newSide(d, d.Source)
	if err != nil {
		return nil, err
	}
	target, err := newSide(d, d.Target)
	if err != nil {
		return nil, err
	}
	return &Pair{Source: source, Target: target, joint: d.Joint}, nil
}

// learnCase learns how words are usually written. It tokenises the lines on its own, for a tokenised copy of the whole text would
// take as much memory as the text.
func (s *Side) learnCase(lines []string) {
	counts := tokenize.NewTruecaserCounts()
	for _, line := range lines {
		counts.Add(s.Tokenize(line))
	}
	s.truecaser = counts.Truecaser()
}

// count counts the tokenised words of raw lines.
func (s *Side) count(lines []string) *tokenize.WordCounts {
	words := &tokenize.WordCounts{}
	for _, line := range lines {
		for _, word := range strings.Fields(s.Tokenize(line)) {
			words.Add(word, 1)
		}
	}
	return words
}

// WordCounts maps each word of raw lines, tokenised and not split into units, to how often it stands there.
func (s *Side) WordCounts(lines []string) map[string]int { return s.count(lines).Map() }

// splits reports whether a side's words are split into byte-pair units.
func (p *Pair) splits(d TextSettings, s *Side) bool {
	units := d.SourceUnits
	if s == p.Target {
		units = d.TargetUnits
	}
	return units == "bpe" && (d.Codes != "" || d.Merges > 0)
}

func (p *Pair) learnCodes(d TextSettings, source, target *tokenize.WordCounts) error {
	if d.Codes != "" {
		codes, err := readFile(d.Codes, "data.codes", tokenize.ReadCodes)
		if err != nil {
			return err
		}
		for _, s := range []*Side{p.Source, p.Target} {
			if p.splits(d, s) {
				s.codes = codes
			}
		}
		return nil
	}
	learn := func(words ...*tokenize.WordCounts) (*tokenize.Codes, error) {
		all := &tokenize.WordCounts{}
		for _, w := range words {
			for word, n := range w.Map() {
				all.Add(word, n)
			}
		}
		codes, _, err := tokenize.Learn(all, tokenize.LearnOptions{Merges: d.Merges})
		return codes, err
	}
	var err error
	switch {
	case !p.splits(d, p.Source) && !p.splits(d, p.Target):
	case !p.splits(d, p.Target):
		p.Source.codes, err = learn(source)
	case !p.splits(d, p.Source):
		p.Target.codes, err = learn(target)
	case d.Joint || d.JointCodes:
		p.Source.codes, err = learn(source, target)
		p.Target.codes = p.Source.codes
	default:
		if p.Source.codes, err = learn(source); err == nil {
			p.Target.codes, err = learn(target)
		}
	}
	return err
}

// prepare makes the encoder of the codes, with the units that the threshold leaves.
func (s *Side) prepare(threshold int) error {
	var options tokenize.BPEOptions
	if threshold > 0 {
		options.Vocabulary = map[string]bool{}
		for unit, n := range s.units.Map() {
			if n >= threshold {
				options.Vocabulary[unit] = true
			}
		}
	}
	var err error
	s.bpe, err = tokenize.NewBPE(s.codes, options)
	return err
}

// segment counts the units of counted words.
func (s *Side) segment(words *tokenize.WordCounts) *tokenize.WordCounts {
	if s.bpe == nil {
		return words
	}
	units := &tokenize.WordCounts{}
	for word, n := range words.Map() {
		for _, unit := range s.bpe.Words([]string{word}) {
			units.Add(unit, n)
		}
	}
	return units
}

func (p *Pair) learnVocabularies(d TextSettings, source, target *tokenize.WordCounts) error {
	if d.Joint {
		for unit, n := range target.Map() {
			source.Add(unit, n)
		}
		target = source
	}
	choose := func(file, key string, counts *tokenize.WordCounts, size int) (*tokenize.Vocabulary, error) {
		if file != "" {
			return readFile(file, key, tokenize.ReadVocabulary)
		}
		options := tokenize.VocabularyOptions{MinCount: d.MinCount, MaxTypes: size}
		if size > 0 {
			options.PaddingFactor = 1 // so many as were asked for, and no more
		}
		return tokenize.NewVocabulary(counts.Map(), options), nil
	}
	var err error
	if p.Source.Vocabulary, err = choose(d.SourceVocabulary, "data.source_vocabulary", source, d.SourceSize); err != nil {
		return err
	}
	if p.Target.Vocabulary, err = choose(d.TargetVocabulary, "data.target_vocabulary", target, d.TargetSize); err != nil {
		return err
	}
	if !d.Joint {
		return nil
	}
	if p.Source.Vocabulary.Hash() != p.Target.Vocabulary.Hash() {
		return fmt.Errorf("data.joint wants one vocabulary, but %s and %s differ: give the same file to both keys, or set data.joint = false", d.SourceVocabulary, d.TargetVocabulary)
	}
	p.Target.Vocabulary = p.Source.Vocabulary
	return nil
}

// readFile reads a file that a key names with a reader of package tokenize.
func readFile[T any](path, key string, read func(io.Reader, string) (T, error)) (T, error) {
	f, err := os.Open(path)
	if err != nil {
		var none T
		return none, fmt.Errorf("%s: %w: correct %s", path, err, key)
	}
	defer f.Close()
	return read(f, path)
}
