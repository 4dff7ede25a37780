package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/tokenize"
)

// bpeCommands are the tools of byte-pair encoding.
func bpeCommands() []tool {
	return []tool{
		{"bpe-learn", "learn byte-pair codes from text, or jointly from several files", bpeLearn},
		{"bpe-apply", "segment words into units by codes", bpeApply},
		{"bpe-undo", "join units into words again", bpeUndo},
		{"vocab", "count words or units, the most frequent first", vocab},
	}
}

func bpeLearn(args []string, in io.Reader, out, errw io.Writer) error {
	fs := command.Flags("bpe-learn")
	symbols := fs.IntP("symbols", "s", 10000, "merges to learn")
	minimum := fs.Int("min-frequency", 2, "stop when no pair of symbols is this frequent")
	total := fs.BoolP("total-symbols", "t", false, "subtract the number of characters from -s, so that -s bounds the whole vocabulary")
	dict := fs.Bool("dict-input", false, "the input is a dictionary, \"word count\" on each line")
	names, err := parseFlags(fs, "[FILE...] [< text] > codes", args, out)
	switch {
	case err != nil:
		return err
	case *symbols < 0:
		return usagef("-s should not be negative, and is %d", *symbols)
	case *minimum < 1:
		return usagef("-min-frequency should be 1 or more, and is %d", *minimum)
	}
	var words tokenize.WordCounts
	read := words.ReadText
	if *dict {
		read = words.ReadDict
	}
	if err := eachInput(names, in, read); err != nil {
		return err
	}
	codes, report, err := tokenize.Learn(&words, tokenize.LearnOptions{
		Merges: *symbols, MinFrequency: *minimum, TotalSymbols: *total,
	})
	if err != nil {
		return err
	}
	if *total {
		fmt.Fprintf(errw, "%d characters inside words and %d at their ends leave %d merges\n", report.InternalCharacters,
			report.FinalCharacters, max(0, *symbols-report.InternalCharacters-report.FinalCharacters))
	}
	if report.Stopped {
		fmt.Fprintf(errw, "stopped after %d merges: no pair has frequency >= %d\n", len(codes.Merges), *minimum)
	}
	return codes.Write(out)
}

func bpeApply(args []string, in io.Reader, out, errw io.Writer) error {
	fs := command.Flags("bpe-apply")
	codesFile := fs.StringP("codes", "c", "", "codes file that bpe-learn wrote (required)")
	merges := fs.IntP("merges", "m", -1, "number of merges to use, the first ones; -1 uses all")
	separator := fs.String("separator", tokenize.DefaultSeparator, "mark of a unit that does not end its word")
	vocabulary := fs.String("vocabulary", "", "undo merges whose unit is not in this file, which vocab wrote")
	threshold := fs.Int("vocabulary-threshold", 0, "ignore units of -vocabulary that are rarer than this")
	dropout := fs.Float64("dropout", 0, "probability of skipping a merge, for training data")
	seed := fs.Int64("seed", 1, "seed of -dropout")
	glossaries := fs.StringArray("glossary", nil, "regular expression of text that stays whole (repeatable)")
	names, err := parseFlags(fs, "-c CODES < text > units", args, out)
	switch {
	case err != nil:
		return err
	case len(names) > 0:
		return usagef("unexpected argument %q: the text comes from standard input", names[0])
	case *codesFile == "":
		return usagef("-c CODES is missing: the codes file that bpe-learn wrote")
	case *merges < -1:
		return usagef("-merges should be -1 or more, and is %d", *merges)
	case *separator == "":
		return usagef("-separator should not be empty")
	case !(*dropout >= 0 && *dropout <= 1):
		return usagef("-dropout should be between 0 and 1, and is %v", *dropout)
	case fs.Changed("vocabulary-threshold") && *vocabulary == "":
		return usagef("-vocabulary-threshold needs -vocabulary FILE")
	}
	codes, err := readWith(*codesFile, tokenize.ReadCodes)
	if err != nil {
		return err
	}
	opts := tokenize.BPEOptions{Separator: *separator, Glossaries: *glossaries, Dropout: *dropout, Seed: *seed}
	if *vocabulary != "" {
		opts.Vocabulary, err = readWith(*vocabulary, func(r io.Reader, name string) (map[string]bool, error) {
			return tokenize.ReadBPEVocabulary(r, name, *threshold)
		})
		if err != nil {
			return err
		}
		if len(opts.Vocabulary) == 0 {
			fmt.Fprintf(errw, "no unit of %s is as frequent as -vocabulary-threshold %d: nothing is undone\n", *vocabulary, *threshold)
		}
	}
	bpe, err := tokenize.NewBPE(codes.First(*merges), opts)
	if err != nil {
		return usagef("%v", err) // the codes are read: what is left to refuse came from the flags
	}
	return eachLineExact(in, out, func(line string) (string, error) { return bpe.Line(line), nil })
}

func bpeUndo(args []string, in io.Reader, out, _ io.Writer) error {
	fs := command.Flags("bpe-undo")
	separator := fs.String("separator", tokenize.DefaultSeparator, "mark of a unit that does not end its word")
	names, err := parseFlags(fs, "< units > text", args, out)
	switch {
	case err != nil:
		return err
	case len(names) > 0:
		return usagef("unexpected argument %q: the text comes from standard input", names[0])
	case *separator == "":
		return usagef("-separator should not be empty")
	}
	return eachLineExact(in, out, func(line string) (string, error) { return tokenize.UndoBPE(line, *separator), nil })
}

func vocab(args []string, in io.Reader, out, _ io.Writer) error {
	fs := command.Flags("vocab")
	names, err := parseFlags(fs, "[FILE...] [< text] > vocabulary", args, out)
	if err != nil {
		return err
	}
	var words tokenize.WordCounts
	if err := eachInput(names, in, words.ReadText); err != nil {
		return err
	}
	return words.Write(out)
}

// parseFlags parses flags and returns what is left of the arguments. Help goes to out; what follows an empty line in usage stands
// below it.
func parseFlags(fs *pflag.FlagSet, usage string, args []string, out io.Writer) (rest []string, err error) {
	usage, about, _ := strings.Cut(usage, "\n\n")
	h := command.Help{Name: "text " + fs.Name(), Usage: usage, About: about}
	for _, c := range commands() {
		if c.name == fs.Name() {
			h.Summary = h.Name + ": " + c.summary + "."
		}
	}
	err = h.Parse(fs, args, out)
	return fs.Args(), err
}

// eachInput reads the files one after the other, or in where there are none.
func eachInput(names []string, in io.Reader, read func(r io.Reader, name string) error) error {
	if len(names) == 0 {
		return read(in, "standard input")
	}
	for _, file := range names {
		_, err := readWith(file, func(r io.Reader, name string) (struct{}, error) { return struct{}{}, read(r, name) })
		if err != nil {
			return err
		}
	}
	return nil
}

// readWith opens a file, which may be packed, and reads it.
func readWith[T any](file string, read func(r io.Reader, name string) (T, error)) (T, error) {
	f, err := files.Open(file)
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	return read(f, file)
}
