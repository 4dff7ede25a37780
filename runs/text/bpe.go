package main

import (
	"fmt"
	"io"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/tokenize"
)

func bpeTools() []tool {
	return []tool{
		{name: "bpe-learn", summary: "learn byte-pair codes from text, or jointly from several files",
			usage: "[FILE...] [< text] > codes", options: &bpeLearn{}, files: true},
		{name: "bpe-apply", summary: "segment words into units by codes", usage: "-c CODES < text > units",
			options: &bpeApply{}},
		{name: "bpe-undo", summary: "join units into words again", usage: "< units > text", options: &bpeUndo{}},
		{name: "vocab", summary: "count words or units, the most frequent first",
			usage: "[FILE...] [< text] > vocabulary", options: &vocab{}, files: true},
	}
}

type bpeLearn struct {
	Symbols      int  `flag:"symbols,s" default:"10000" range:"[0,inf)" help:"merges to learn"`
	MinFrequency int  `flag:"min-frequency" default:"2" range:"[1,inf)" help:"stop when no pair of symbols is this frequent"`
	Total        bool `flag:"total-symbols,t" help:"subtract the number of characters from -s, so that -s bounds the whole vocabulary"`
	Dict         bool `flag:"dict-input" help:"the input is a dictionary, \"word count\" on each line"`
}

func (f *bpeLearn) run(s streams) error {
	var words tokenize.WordCounts
	read := words.ReadText
	if f.Dict {
		read = words.ReadDict
	}
	if err := s.eachInput(read); err != nil {
		return err
	}
	codes, report, err := tokenize.Learn(&words, tokenize.LearnOptions{
		Merges: f.Symbols, MinFrequency: f.MinFrequency, TotalSymbols: f.Total,
	})
	if err != nil {
		return err
	}
	if f.Total {
		inside, ends := report.InternalCharacters, report.FinalCharacters
		fmt.Fprintf(s.errw, "%d characters inside words and %d at their ends leave %d merges\n", inside, ends,
			max(0, f.Symbols-inside-ends))
	}
	if report.Stopped {
		fmt.Fprintf(s.errw, "stopped after %d merges: no pair has frequency >= %d\n", len(codes.Merges), f.MinFrequency)
	}
	return codes.Write(s.out)
}

// unitMark is the flag -separator.
type unitMark struct {
	Separator string `flag:"separator" default:"@@" needed:"give the mark of a unit" help:"mark of a unit that does not end its word"`
}

type bpeApply struct {
	Codes  string `flag:"codes,c" needed:"give the codes file that bpe-learn wrote" help:"codes file that bpe-learn wrote (required)"`
	Merges int    `flag:"merges,m" default:"-1" range:"[-1,inf)" help:"number of merges to use, the first ones; -1 uses all"`
	unitMark
	Vocabulary string   `flag:"vocabulary" help:"undo merges whose unit is not in this file, which vocab wrote"`
	Threshold  int      `flag:"vocabulary-threshold" with:"vocabulary" help:"ignore units of -vocabulary that are rarer than this"`
	Dropout    float64  `flag:"dropout" range:"[0,1]" help:"probability of skipping a merge, for training data"`
	Seed       int64    `flag:"seed" default:"1" with:"dropout" help:"seed of -dropout"`
	Glossaries []string `flag:"glossary" help:"regular expression of text that stays whole (repeatable)"`
}

func (f *bpeApply) run(s streams) error {
	codes, err := readWith(f.Codes, tokenize.ReadCodes)
	if err != nil {
		return err
	}
	opts := tokenize.BPEOptions{Separator: f.Separator, Glossaries: f.Glossaries, Dropout: f.Dropout, Seed: f.Seed}
	if f.Vocabulary != "" {
		opts.Vocabulary, err = readWith(f.Vocabulary, func(r io.Reader, name string) (map[string]bool, error) {
			return tokenize.ReadBPEVocabulary(r, name, f.Threshold)
		})
		if err != nil {
			return err
		}
		if len(opts.Vocabulary) == 0 {
			fmt.Fprintf(s.errw, "no unit of %s is as frequent as -vocabulary-threshold %d: nothing is undone\n",
				f.Vocabulary, f.Threshold)
		}
	}
	bpe, err := tokenize.NewBPE(codes.First(f.Merges), opts)
	if err != nil {
		return command.Usagef("%v", err) // the codes are read: what is left to refuse came from the flags
	}
	return s.eachLine(true, sure(bpe.Line))
}

type bpeUndo struct{ unitMark }

func (f *bpeUndo) run(s streams) error {
	return s.eachLine(true, sure(func(line string) string { return tokenize.UndoBPE(line, f.Separator) }))
}

type vocab struct{}

func (*vocab) run(s streams) error {
	var words tokenize.WordCounts
	if err := s.eachInput(words.ReadText); err != nil {
		return err
	}
	return words.Write(s.out)
}
