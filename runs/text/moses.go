package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/aperture-ml/aperture/tokenize"
)

// mosesTools do what the Moses scripts do.
func mosesTools() []tool {
	return []tool{
		{name: "tokenize", summary: "split text into tokens as the Moses tokenizer does",
			usage: "[-l LANGUAGE] < text > tokens", options: &tokenizeText{}},
		{name: "detokenize", summary: "join tokens to text again", usage: "[-l LANGUAGE] < tokens > text",
			options: &detokenizeText{}},
		{name: "normalize", summary: "make punctuation uniform", usage: "[-l LANGUAGE] < text > text",
			options: &normalizeText{}},
		{name: "lower", summary: "lower-case text", usage: "< text > text", options: &filter{true, tokenize.Lowercase}},
		{name: "truecase-train", summary: "learn the usual case of words from tokenized text",
			usage: "-model FILE < tokens", options: &truecaseTrain{}},
		{name: "truecase", summary: "give sentence starts and unknown forms their usual case",
			usage: "-model FILE < tokens > tokens", options: &truecaseText{}},
		{name: "detruecase", summary: "upper-case the first letter of each sentence", usage: "< text > text",
			options: &filter{false, tokenize.Detruecase}},
		{name: "remove-non-printing", summary: "replace control and other invisible characters by spaces",
			usage: "< text > text", options: &filter{false, tokenize.RemoveNonPrinting}},
		{name: "clean", summary: "drop empty, long and mismatched sentence pairs of a parallel corpus",
			usage: "[flags] PREFIX L1 L2 OUT", options: &cleanCorpus{}, files: true},
	}
}

// mosesVersion is the flag -moses.
type mosesVersion struct {
	Moses string `flag:"moses" default:"current" choice:"2017 current" help:"behaviour of Moses to follow: 2017 or current"`
}

type tokenizeText struct {
	Language   string `flag:"language,l" default:"en" help:"language of the text; en, de and fr have lists of abbreviations"`
	Aggressive bool   `flag:"aggressive,a" help:"split hyphens between letters: well @-@ known"`
	NoEscape   bool   `flag:"no-escape" help:"leave & | < > ' \" [ ] as they are"`
	Protected  string `flag:"protected" help:"file of regular expressions, one a line, whose matches stay whole"`
	mosesVersion
}

func (f *tokenizeText) run(s streams) (err error) {
	options := tokenize.MosesOptions{
		Language: f.Language, Aggressive: f.Aggressive, NoEscape: f.NoEscape, Version: tokenize.MosesVersion(f.Moses),
	}
	if f.Protected != "" {
		if options.Protected, err = readWith(f.Protected, readPatterns); err != nil {
			return err
		}
	}
	moses, err := tokenize.NewMoses(options)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Protected, err)
	}
	if caveat := moses.Caveat(); caveat != "" {
		fmt.Fprintln(s.errw, caveat)
	}
	return s.eachLine(false, sure(moses.Tokenize))
}

// readPatterns reads the lines of a file of protected patterns, blank ones left out.
func readPatterns(r io.Reader, name string) (patterns []string, err error) {
	lines := tokenize.NewLines(r, name)
	for lines.Next() {
		if lines.Text() != "" {
			patterns = append(patterns, lines.Text())
		}
	}
	return patterns, lines.Err()
}

type detokenizeText struct {
	Language string `flag:"language,l" default:"en" help:"language of the text; en, fr and it have rules of their own"`
}

func (f *detokenizeText) run(s streams) error {
	detokenizer := tokenize.NewDetokenizer(f.Language)
	if !detokenizer.OwnRules() {
		fmt.Fprintf(s.errw, "language %q has no rules of its own: the common ones are used\n", f.Language)
	}
	return s.eachLine(false, sure(detokenizer.Detokenize))
}

type normalizeText struct {
	Language string `flag:"language,l" default:"en" help:"language of the text, which decides on quotes beside full stops and on decimal commas"`
	mosesVersion
}

func (f *normalizeText) run(s streams) error {
	return s.eachLine(true, sure(tokenize.NewNormalizer(f.Language, tokenize.MosesVersion(f.Moses)).Normalize))
}

type truecaseTrain struct {
	Model string `flag:"model" needed:"give the file to write the model to" help:"file to write the model to (required)"`
}

func (f *truecaseTrain) run(s streams) error {
	truecaser, err := tokenize.TrainTruecaser(s.in, "standard input")
	if err != nil {
		return err
	}
	return writeFiles([]string{f.Model}, func(w []*bufio.Writer) error {
		_, err := truecaser.WriteTo(w[0])
		return err
	})
}

type truecaseText struct {
	Model string `flag:"model" needed:"give the model that truecase-train wrote" help:"model that truecase-train wrote (required)"`
}

func (f *truecaseText) run(s streams) error {
	truecaser, err := readWith(f.Model, tokenize.ReadTruecaser)
	if err != nil {
		return err
	}
	return s.eachLine(false, sure(truecaser.Truecase))
}
