package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/tokenize"
)

// cleanCorpus reads PREFIX.L1 and PREFIX.L2, or those with .gz or .zst, and writes the
// pairs that it keeps to OUT.L1 and OUT.L2.
func cleanCorpus(args []string, _ io.Reader, out, errw io.Writer) error {
	flags := command.Flags("clean")
	options := tokenize.CleanOptions{}
	flags.IntVar(&options.Min, "min", 1, "fewest tokens of a sentence")
	flags.IntVar(&options.Max, "max", 175, "most tokens of a sentence")
	flags.Float64Var(&options.Ratio, "ratio", 9, "greatest ratio of tokens between the two sides, 0 for no limit")
	flags.IntVar(&options.MaxWordLength, "max-word-length", 1000, "most characters of a word")
	flags.BoolVar(&options.Lowercase, "lowercase", false, "lower-case what is kept")
	flags.BoolVar(&options.IgnoreMarkup, "ignore-xml", false, "leave out markup in < > when counting tokens")
	retained := flags.String("lines-retained", "", "file to write the numbers of the kept lines to")
	rest, err := parseFlags(flags, "[flags] PREFIX L1 L2 OUT", args, out)
	if err != nil {
		return err
	}
	if len(rest) != 4 {
		return usagef("PREFIX L1 L2 OUT are needed, %d arguments are given: clean corpus de en corpus.clean reads corpus.de and corpus.en", len(rest))
	}
	cleaner, err := tokenize.NewCleaner(options)
	if err != nil {
		return usagef("%v", err)
	}
	prefix, output := rest[0], rest[3]
	var sides [2]*tokenize.Lines
	var names [2]string
	for i, language := range rest[1:3] {
		names[i] = prefix + "." + language
		file, err := files.Open(names[i])
		if err != nil {
			return err
		}
		defer file.Close()
		sides[i] = tokenize.NewLines(file, names[i])
	}
	outputs := []string{output + "." + rest[1], output + "." + rest[2]}
	if *retained != "" {
		outputs = append(outputs, *retained)
	}
	for _, name := range outputs {
		if name == names[0] || name == names[1] {
			return usagef("%s would be read and written at once: choose another OUT", name)
		}
	}
	var read, kept int
	dropped := make(map[tokenize.CleanReason]int)
	err = writeFiles(outputs, func(w []*bufio.Writer) error {
		for sides[0].Next() {
			read++
			if !sides[1].Next() {
				if err := sides[1].Err(); err != nil {
					return err
				}
				return fmt.Errorf("%s ends after %d lines and %s goes on: both need the same number of lines", names[1], read-1, names[0])
			}
			a, b, reason, err := cleaner.Clean(sides[0].Text(), sides[1].Text())
			if err != nil {
				return fmt.Errorf("line %d of %s and %s: %w", read, names[0], names[1], err)
			}
			if reason != tokenize.Kept {
				dropped[reason]++
				continue
			}
			kept++
			w[0].WriteString(a + "\n")
			w[1].WriteString(b + "\n")
			if *retained != "" {
				fmt.Fprintln(w[2], read)
			}
		}
		if err := sides[0].Err(); err != nil {
			return err
		}
		if sides[1].Next() {
			return fmt.Errorf("%s ends after %d lines and %s goes on: both need the same number of lines", names[0], read, names[1])
		}
		return sides[1].Err()
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(errw, "Input sentences: %d  Output sentences:  %d\n", read, kept)
	for reason := tokenize.Empty; reason <= tokenize.LongWord; reason++ {
		if dropped[reason] > 0 {
			fmt.Fprintf(errw, "dropped %d: %s\n", dropped[reason], dropReasons[reason])
		}
	}
	return nil
}

// dropReasons say in words why pairs were dropped.
var dropReasons = map[tokenize.CleanReason]string{
	tokenize.Empty:    "a side is empty",
	tokenize.TooLong:  "a side has more tokens than -max",
	tokenize.TooShort: "a side has fewer tokens than -min",
	tokenize.BadRatio: "the lengths differ by more than -ratio",
	tokenize.LongWord: "a word is longer than -max-word-length",
}

// writeFiles creates files and has them written.
func writeFiles(names []string, write func(w []*bufio.Writer) error) error {
	var create func(open []*bufio.Writer) error
	create = func(open []*bufio.Writer) error {
		if len(open) == len(names) {
			return write(open)
		}
		return writeFile(names[len(open)], func(w *bufio.Writer) error { return create(append(open, w)) })
	}
	return create(nil)
}
