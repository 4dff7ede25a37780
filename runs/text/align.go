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
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// alignTools align words.
func alignTools() []tool {
	return []tool{
		{name: "align", summary: "align the words of sentence pairs as fast_align does",
			usage: "-d -o -v [-r] < pairs > alignment\n\n" +
				"A line of pairs is SOURCE ||| TARGET, words separated by spaces; one of the alignment, " +
				"such as 0-0 1-2,\nholds places of source and target words, counted from 0.",
			options: &alignWords{}},
		{name: "symmetrize", summary: "join the alignments of both directions by grow-diag-final-and",
			usage: "FORWARD REVERSE > alignment\n\n" +
				"FORWARD is what align -d -o -v wrote, REVERSE what align -d -o -v -r did.",
			options: &symmetrize{}, files: true},
		{name: "lexicon", summary: "make a word lexicon of sentence pairs and their alignment",
			usage: "-a ALIGNMENT < pairs > lexicon\n\n" +
				"A line of the lexicon is a source word, a tab, and the target word that it is linked to most often.",
			options: &lexicon{}},
		{name: "shortlist", summary: "list the pieces that a run's translations may have, for translate -shortlist",
			usage: "-run FOLDER SOURCE TARGET > list\n\n" +
				"SOURCE and TARGET are files of raw sentence pairs: the run's training text, or a part of it that memory " +
				"holds,\nof which aligning takes 0.2 GiB for 29,000 pairs of short sentences. A line of the list is a source " +
				"piece, a tab,\nand target pieces with spaces between them; the first line has the pieces of every translation.",
			options: &shortlist{}, files: true},
	}
}

type alignWords struct {
	Diagonal   bool `flag:"favor-diagonal,d" help:"favour links near the diagonal (recommended)"`
	Tension    bool `flag:"optimize-tension,o" with:"favor-diagonal=true" help:"learn how near, with -d (recommended)"`
	Bayes      bool `flag:"variational-bayes,v" help:"variational Bayes with a Dirichlet prior on translations (recommended)"`
	Reverse    bool `flag:"reverse,r" help:"explain the source by the target; links are still source-target"`
	Iterations int  `flag:"iterations,i" default:"5" range:"[1,1000]" help:"iterations of expectation maximisation, the last of which only aligns"`
}

func (f *alignWords) run(s streams) error {
	corpus, err := readPairs(s.in)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(s.out)
	for _, links := range align.Align(corpus, align.Options(*f)) {
		fmt.Fprintln(w, align.Format(links))
	}
	return w.Flush()
}

type symmetrize struct{}

func (*symmetrize) run(s streams) (err error) {
	files := s.args
	if len(files) != 2 {
		return command.Usagef("two files are needed, FORWARD and REVERSE, and %d are given", len(files))
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
	w := bufio.NewWriter(s.out)
	for i, forward := range sides[0] {
		fmt.Fprintln(w, align.Format(align.GrowDiagFinalAnd(forward, sides[1][i])))
	}
	return w.Flush()
}

type lexicon struct {
	Alignment string `flag:"alignment,a" needed:"give the file that symmetrize or align wrote for these pairs" help:"file that symmetrize or align wrote for these pairs (required)"`
}

func (f *lexicon) run(s streams) error {
	links, err := readWith(f.Alignment, readLinks)
	if err != nil {
		return err
	}
	corpus, err := readPairs(s.in)
	if err != nil {
		return err
	}
	learnt, err := align.LearnLexicon(corpus, links)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Alignment, err)
	}
	return learnt.Write(s.out)
}

type shortlist struct {
	ofRun
	Best     int `flag:"best" default:"50" range:"[1,inf)" help:"translations of a source piece, the most frequent <N>"`
	Frequent int `flag:"frequent" default:"100" range:"[0,inf)" help:"pieces of every translation, the <N> most frequent of TARGET"`
}

func (f *shortlist) run(s streams) error {
	if len(s.args) != 2 {
		return command.Usagef("two files are needed, SOURCE and TARGET, and %d are given", len(s.args))
	}
	p, err := f.sides()
	if err != nil {
		return err
	}
	var text [2]corpus.Text
	for i, file := range s.args {
		if text[i], err = (corpus.LineSettings{}).ReadLines(file, "SOURCE or TARGET"); err != nil {
			return err
		}
	}
	if a, b := text[0].Len(), text[1].Len(); a != b {
		return fmt.Errorf("%s has %d lines and %s has %d: both are of the same pairs", s.args[0], a, s.args[1], b)
	}
	learnt, err := p.LearnShortlist(corpus.Parallel{Source: text[0], Target: text[1]}, f.Frequent, f.Best)
	if err != nil {
		return err
	}
	return learnt.Write(s.out)
}

// mostLinks are those of a pair. Each takes 16 bytes.
const mostLinks = 1 << 26

// readPairs reads lines SOURCE ||| TARGET. A side may be empty.
func readPairs(in io.Reader) (*align.Corpus, error) {
	corpus := &align.Corpus{}
	lines := tokenize.NewLines(in, "standard input")
	for lines.Next() {
		blank := func(r rune) bool { return r == ' ' || r == '\t' }
		words := strings.FieldsFunc(strings.TrimSuffix(lines.Text(), "\r"), blank)
		at := slices.Index(words, "|||")
		if at < 0 || slices.Contains(words[at+1:], "|||") {
			return nil, lines.Errorf("a line is SOURCE ||| TARGET, with ||| as a word of its own, once")
		}
		source, target := words[:at], words[at+1:]
		if len(source)*len(target) > mostLinks {
			return nil, lines.Errorf("%d words beside %d have more than %d possible links: break the pair up, a sentence a line",
				len(source), len(target), mostLinks)
		}
		corpus.Add(source, target)
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
