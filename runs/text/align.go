package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/align"
)

// alignCommands are the tools of word alignment.
func alignCommands() []tool {
	return []tool{
		{"align", "align the words of sentence pairs as fast_align does", alignWords},
		{"symmetrize", "join the alignments of both directions by grow-diag-final-and", symmetrize},
		{"lexicon", "make a word lexicon of sentence pairs and their alignment", lexicon},
	}
}

func alignWords(args []string, in io.Reader, out, _ io.Writer) error {
	fs := command.Flags("align")
	o := align.Options{}
	fs.BoolVarP(&o.Diagonal, "favor-diagonal", "d", false, "favour links near the diagonal (recommended)")
	fs.BoolVarP(&o.Tension, "optimize-tension", "o", false, "learn how near, with -d (recommended)")
	fs.BoolVarP(&o.Bayes, "variational-bayes", "v", false, "variational Bayes with a Dirichlet prior on translations (recommended)")
	fs.BoolVarP(&o.Reverse, "reverse", "r", false, "explain the source by the target; links are still source-target")
	fs.IntVarP(&o.Iterations, "iterations", "i", 5, "iterations of expectation maximisation, the last of which only aligns")
	if err := parseFilter(fs, "-d -o -v [-r] < pairs > alignment\n\nA line of pairs is SOURCE ||| TARGET, words separated by spaces; one of the alignment, such as 0-0 1-2,\nholds places of source and target words, counted from 0.", args, out); err != nil {
		return err
	}
	if o.Iterations < 1 || o.Iterations > 1000 {
		return usagef("-iterations should be from 1 to 1000, and is %d", o.Iterations)
	}
	corpus, err := readPairs(in)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	for _, links := range align.Align(corpus, o) {
		fmt.Fprintln(w, align.Format(links))
	}
	return w.Flush()
}

func symmetrize(args []string, _ io.Reader, out, _ io.Writer) error {
	fs := command.Flags("symmetrize")
	files, err := parseFlags(fs, "FORWARD REVERSE > alignment\n\nFORWARD is what align -d -o -v wrote, REVERSE what align -d -o -v -r did.", args, out)
	if err != nil {
		return err
	}
	if len(files) != 2 {
		return usagef("two files are needed, FORWARD and REVERSE, and %d are given", len(files))
	}
	var sides [2][][]align.Link
	for i, file := range files {
		if sides[i], err = readWith(file, readLinks); err != nil {
			return err
		}
	}
	if a, b := len(sides[0]), len(sides[1]); a != b {
		return fmt.Errorf("%s has %d lines and %s has %d: both are of the same pairs", files[0], a, files[1], b)
	}
	w := bufio.NewWriter(out)
	for i, forward := range sides[0] {
		fmt.Fprintln(w, align.Format(align.GrowDiagFinalAnd(forward, sides[1][i])))
	}
	return w.Flush()
}

func lexicon(args []string, in io.Reader, out, _ io.Writer) error {
	fs := command.Flags("lexicon")
	file := fs.StringP("alignment", "a", "", "file that symmetrize or align wrote for these pairs (required)")
	if err := parseFilter(fs, "-a ALIGNMENT < pairs > lexicon\n\nA line of the lexicon is a source word, a tab, and the target word that it is linked to most often.", args, out); err != nil {
		return err
	}
	if *file == "" {
		return usagef("-a ALIGNMENT is missing: the file that symmetrize or align wrote for these pairs")
	}
	links, err := readWith(*file, readLinks)
	if err != nil {
		return err
	}
	corpus, err := readPairs(in)
	if err != nil {
		return err
	}
	learnt, err := align.LearnLexicon(corpus, links)
	if err != nil {
		return fmt.Errorf("%s: %w", *file, err)
	}
	return learnt.Write(out)
}

// readPairs reads lines SOURCE ||| TARGET. A side may be empty.
func readPairs(in io.Reader) (*align.Corpus, error) {
	corpus := &align.Corpus{}
	lines := tokenize.NewLines(in, "standard input")
	for lines.Next() {
		words := strings.FieldsFunc(strings.TrimSuffix(lines.Text(), "\r"), func(r rune) bool { return r == ' ' || r == '\t' })
		at := slices.Index(words, "|||")
		if at < 0 || slices.Contains(words[at+1:], "|||") {
			return nil, lines.Errorf("a line is SOURCE ||| TARGET, with ||| as a word of its own, once")
		}
		corpus.Add(words[:at], words[at+1:])
	}
	return corpus, lines.Err()
}

// readLinks reads an alignment, a line for each pair.
func readLinks(r io.Reader, name string) (all [][]align.Link, err error) {
	lines := tokenize.NewLines(r, name)
	for lines.Next() {
		links, err := align.Parse(lines.Text())
		if err != nil {
			return nil, lines.Errorf("%v", err)
		}
		all = append(all, links)
	}
	return all, lines.Err()
}
