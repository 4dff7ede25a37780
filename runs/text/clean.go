package main

import (
	"bufio"
	"fmt"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/tokenize"
)

// cleanCorpus reads PREFIX.L1 and PREFIX.L2 and writes the pairs that it keeps to OUT.L1 and OUT.L2.
type cleanCorpus struct {
	Min           int     `flag:"min" default:"1" help:"fewest tokens of a sentence"`
	Max           int     `flag:"max" default:"175" help:"most tokens of a sentence"`
	Ratio         float64 `flag:"ratio" default:"9" help:"greatest ratio of tokens between the two sides, 0 for no limit"`
	MaxWordLength int     `flag:"max-word-length" default:"1000" help:"most characters of a word"`
	Lowercase     bool    `flag:"lowercase" help:"lower-case what is kept"`
	IgnoreMarkup  bool    `flag:"ignore-xml" help:"leave out markup in < > when counting tokens"`
	Retained      string  `flag:"lines-retained" help:"file to write the numbers of the kept lines to"`
}

func (f *cleanCorpus) run(s streams) error {
	if len(s.args) != 4 {
		return command.Usagef("PREFIX L1 L2 OUT are needed, %d arguments are given: clean corpus de en corpus.clean "+
			"reads corpus.de and corpus.en", len(s.args))
	}
	cleaner, err := tokenize.NewCleaner(tokenize.CleanOptions{
		Min: f.Min, Max: f.Max, Ratio: f.Ratio, MaxWordLength: f.MaxWordLength, Lowercase: f.Lowercase,
		IgnoreMarkup: f.IgnoreMarkup,
	})
	if err != nil {
		return command.Usagef("%v", err)
	}
	prefix, languages, output := s.args[0], s.args[1:3], s.args[3]
	var sides [2]*tokenize.Lines
	var names [2]string
	var outputs []string
	for i, language := range languages {
		names[i] = prefix + "." + language
		outputs = append(outputs, output+"."+language)
		file, err := files.Open(names[i])
		if err != nil {
			return err
		}
		defer file.Close()
		sides[i] = tokenize.NewLines(file, names[i])
	}
	if f.Retained != "" {
		outputs = append(outputs, f.Retained)
	}
	for _, name := range outputs {
		if sameFile(name, names[0]) || sameFile(name, names[1]) {
			return command.Usagef("%s would be read and written at once: choose another OUT", name)
		}
	}
	var read, kept int
	dropped := make(map[tokenize.CleanReason]int)
	err = writeFiles(outputs, func(w []*bufio.Writer) error {
		for ; ; read++ {
			more := [2]bool{sides[0].Next(), sides[1].Next()}
			for i, side := range sides {
				if err := side.Err(); err != nil {
					return err
				}
				if !more[i] && more[1-i] {
					return fmt.Errorf("%s ends after %d lines and %s goes on: both need the same number of lines",
						names[i], read, names[1-i])
				}
			}
			if !more[0] {
				return nil
			}
			a, b, reason, err := cleaner.Clean(sides[0].Text(), sides[1].Text())
			if err != nil {
				return fmt.Errorf("line %d of %s and %s: %w", read+1, names[0], names[1], err)
			}
			if reason != tokenize.Kept {
				dropped[reason]++
				continue
			}
			kept++
			w[0].WriteString(a + "\n")
			w[1].WriteString(b + "\n")
			if f.Retained != "" {
				fmt.Fprintln(w[2], read+1)
			}
		}
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.errw, "Input sentences: %d  Output sentences:  %d\n", read, kept)
	for reason, words := range dropReasons {
		if n := dropped[tokenize.CleanReason(reason)]; n > 0 {
			fmt.Fprintf(s.errw, "dropped %d: %s\n", n, words)
		}
	}
	return nil
}

// dropReasons say in words why pairs were dropped.
var dropReasons = [...]string{
	tokenize.Empty:    "a side is empty",
	tokenize.TooLong:  "a side has more tokens than -max",
	tokenize.TooShort: "a side has fewer tokens than -min",
	tokenize.BadRatio: "the lengths differ by more than -ratio",
	tokenize.LongWord: "a word is longer than -max-word-length",
}
