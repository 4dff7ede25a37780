package bitext

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/align"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Sides are the two sides of a translation.
type Sides struct {
	Source, Target *Side
	Vectors        *vectors.Table // of the target's vocabulary, where a method aims at them
	Lexicon        *align.Lexicon // translates tokenised source words, where data.lexicon is on
	joint          bool
	settings       TextSettings
}

// InMemory is parallel text that has no files.
func InMemory(source, target []string) corpus.Parallel {
	return corpus.Parallel{Source: corpus.Text{Lines: source}, Target: corpus.Text{Lines: target}}
}

// learn makes both sides from raw training text. It reads the text once to count words, and once before that to learn
// their case: a tokenised copy would take as much memory as the text. It keeps the counts alone.
func learn(d TextSettings, text corpus.Parallel) (*Sides, error) {
	if d.SentencePiece() {
		return nil, errors.New(`data.source_units = "sentencepiece" is what imported runs have, and their models are ` +
			"not learnt here: give -init the folder of an imported run, or set data.source_units and " +
			`data.target_units to "bpe"`)
	}
	p, err := newSides(d)
	if err != nil {
		return nil, err
	}
	if d.Truecase {
		if err := errors.Join(p.Source.learnCase(text.Source), p.Target.learnCase(text.Target)); err != nil {
			return nil, err
		}
	}
	sourceWords, err := p.Source.count(text.Source)
	if err != nil {
		return nil, err
	}
	targetWords, err := p.Target.count(text.Target)
	if err != nil {
		return nil, err
	}
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
			if side.units, err = side.segment(side.words); err != nil {
				return nil, err
			}
		}
		if err := side.prepare(d.VocabularyThreshold); err != nil {
			return nil, err
		}
	}
	if d.Lexicon {
		if err := p.learnLexicon(text); err != nil {
			return nil, err
		}
	}
	sourceUnits, err := p.Source.segment(sourceWords)
	if err != nil {
		return nil, err
	}
	targetUnits, err := p.Target.segment(targetWords)
	if err != nil {
		return nil, err
	}
	return p, p.learnVocabularies(d, sourceUnits, targetUnits)
}

func newSides(d TextSettings) (*Sides, error) {
	source, err := newSide(d, d.Source)
	if err != nil {
		return nil, err
	}
	target, err := newSide(d, d.Target)
	if err != nil {
		return nil, err
	}
	return &Sides{Source: source, Target: target, joint: d.Joint, settings: d}, nil
}

// learnCase learns how words are usually written.
func (s *Side) learnCase(text corpus.Text) error {
	counts := tokenize.NewTruecaserCounts()
	err := corpus.Blocks([]corpus.Text{text}, func() (func([][]string) ([]string, error), error) {
		return func(lines [][]string) ([]string, error) {
			tokenised := make([]string, len(lines[0]))
			for i, line := range lines[0] {
				tokenised[i] = s.Tokenize(line)
			}
			return tokenised, nil
		}, nil
	}, func(tokenised []string) error {
		for _, line := range tokenised {
			counts.Add(line)
		}
		return nil
	})
	s.truecaser = counts.Truecaser()
	return err
}

// count counts the tokenised words of raw lines.
func (s *Side) count(text corpus.Text) (*tokenize.WordCounts, error) {
	return counting(text, func() (func(*tokenize.WordCounts, string), error) {
		return func(words *tokenize.WordCounts, line string) {
			for _, word := range strings.Fields(s.Tokenize(line)) {
				words.Add(word, 1)
			}
		}, nil
	})
}

// counting counts what the lines of a text hold, a block of them at a time on each processor. worker makes what one
// goroutine counts with.
func counting(text corpus.Text, worker func() (func(counts *tokenize.WordCounts, line string),
	error)) (*tokenize.WordCounts, error) {
	all := &tokenize.WordCounts{}
	err := corpus.Blocks([]corpus.Text{text}, func() (func([][]string) (*tokenize.WordCounts, error), error) {
		add, err := worker()
		return func(lines [][]string) (*tokenize.WordCounts, error) {
			counts := &tokenize.WordCounts{}
			for _, line := range lines[0] {
				add(counts, line)
			}
			return counts, nil
		}, err
	}, func(counts *tokenize.WordCounts) error {
		for word, n := range counts.All() {
			all.Add(word, n)
		}
		return nil
	})
	return all, err
}

// WordCounts maps each word of raw text, tokenised and not split into units, to how often it stands there.
func (s *Side) WordCounts(text corpus.Text) (map[string]int, error) {
	words, err := s.count(text)
	return words.Map(), err
}

// splits reports whether a side's words are split into byte-pair units.
func (p *Sides) splits(d TextSettings, s *Side) bool {
	units := d.SourceUnits
	if s == p.Target {
		units = d.TargetUnits
	}
	return units == "bpe" && (d.Codes != "" || d.Merges > 0)
}

func (p *Sides) learnCodes(d TextSettings, source, target *tokenize.WordCounts) error {
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
	merges := func(words ...*tokenize.WordCounts) (*tokenize.Codes, error) {
		all := &tokenize.WordCounts{}
		for _, w := range words {
			for word, n := range w.All() {
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
		p.Source.codes, err = merges(source)
	case !p.splits(d, p.Source):
		p.Target.codes, err = merges(target)
	case d.Joint || d.JointCodes:
		p.Source.codes, err = merges(source, target)
		p.Target.codes = p.Source.codes
	default:
		if p.Source.codes, err = merges(source); err == nil {
			p.Target.codes, err = merges(target)
		}
	}
	return err
}

// prepare makes the encoder of the codes, with the units that the threshold leaves.
func (s *Side) prepare(threshold int) (err error) {
	s.threshold = threshold
	s.bpe, err = s.newBPE()
	return err
}

func (s *Side) newBPE() (*tokenize.BPE, error) {
	options := tokenize.BPEOptions{Remember: rememberedBytes} // a server meets new words for as long as it runs
	if s.threshold > 0 {
		options.Vocabulary = map[string]bool{}
		for unit, n := range s.units.All() {
			if n >= s.threshold {
				options.Vocabulary[unit] = true
			}
		}
	}
	return tokenize.NewBPE(s.codes, options)
}

// segment counts the units of counted words.
func (s *Side) segment(words *tokenize.WordCounts) (*tokenize.WordCounts, error) {
	if s.bpe == nil {
		return words, nil
	}
	return counting(corpus.Text{Lines: words.Words()}, func() (func(*tokenize.WordCounts, string), error) {
		bpe, err := s.newBPE()
		return func(units *tokenize.WordCounts, word string) {
			n := words.Count(word)
			for _, unit := range bpe.Words([]string{word}) {
				units.Add(unit, n)
			}
		}, err
	})
}

func (p *Sides) learnVocabularies(d TextSettings, source, target *tokenize.WordCounts) error {
	if d.Joint {
		for unit, n := range target.All() {
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
			options.PaddingFactor = 1 // exactly the size asked for
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
		return fmt.Errorf("data.joint wants one vocabulary, but %s and %s differ: give the same file to both keys, or "+
			"set data.joint = false", d.SourceVocabulary, d.TargetVocabulary)
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
