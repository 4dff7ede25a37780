package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/tokenize"
)

// mosesCommands are the tools that do what the Moses scripts do.
func mosesCommands() []tool {
	return []tool{
		{"tokenize", "split text into tokens as the Moses tokenizer does", tokenizeText},
		{"detokenize", "join tokens to text again", detokenizeText},
		{"normalize", "make punctuation uniform", normalizeText},
		{"lower", "lower-case text", eachLineCommand("lower", eachLineExact, tokenize.Lowercase)},
		{"truecase-train", "learn the usual case of words from tokenized text", truecaseTrain},
		{"truecase", "give sentence starts and unknown forms their usual case", truecaseText},
		{"detruecase", "upper-case the first letter of each sentence", eachLineCommand("detruecase", eachLine, tokenize.Detruecase)},
		{"remove-non-printing", "replace control and other invisible characters by spaces",
			eachLineCommand("remove-non-printing", eachLine, tokenize.RemoveNonPrinting)},
		{"clean", "drop empty, long and mismatched sentence pairs of a parallel corpus", cleanCorpus},
	}
}

// streamer is eachLine or eachLineExact.
type streamer func(in io.Reader, out io.Writer, f func(line string) (string, error)) error

// eachLineCommand makes a command without flags of a function on lines.
func eachLineCommand(name string, stream streamer, f func(string) string) func([]string, io.Reader, io.Writer, io.Writer) error {
	return func(args []string, in io.Reader, out, _ io.Writer) error {
		fs := command.Flags(name)
		if err := parseFilter(fs, "< text > text", args, out); err != nil {
			return err
		}
		return stream(in, out, func(line string) (string, error) { return f(line), nil })
	}
}

func tokenizeText(args []string, in io.Reader, out, errw io.Writer) error {
	fs := command.Flags("tokenize")
	options := tokenize.MosesOptions{}
	fs.StringVarP(&options.Language, "language", "l", "en", "language of the text; en, de and fr have lists of abbreviations")
	fs.BoolVarP(&options.Aggressive, "aggressive", "a", false, "split hyphens between letters: well @-@ known")
	fs.BoolVar(&options.NoEscape, "no-escape", false, "leave & | < > ' \" [ ] as they are")
	protected := fs.String("protected", "", "file of regular expressions, one a line, whose matches stay whole")
	version := fs.String("moses", "current", "behaviour of Moses to follow: 2017 or current")
	if err := parseFilter(fs, "[-l LANGUAGE] < text > tokens", args, out); err != nil {
		return err
	}
	var err error
	if options.Version, err = tokenize.ParseMosesVersion(*version); err != nil {
		return usagef("-moses: %v", err)
	}
	if *protected != "" {
		if options.Protected, err = readWith(*protected, readPatterns); err != nil {
			return err
		}
	}
	moses, err := tokenize.NewMoses(options)
	if err != nil {
		return fmt.Errorf("%s: %w", *protected, err)
	}
	if !moses.OwnPrefixes() {
		fmt.Fprintf(errw, "no abbreviations are known for language %q: the English ones are used\n", options.Language)
	}
	return eachLine(in, out, func(line string) (string, error) { return moses.Tokenize(line), nil })
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

func detokenizeText(args []string, in io.Reader, out, errw io.Writer) error {
	fs := command.Flags("detokenize")
	language := fs.StringP("language", "l", "en", "language of the text; en, fr and it have rules of their own")
	if err := parseFilter(fs, "[-l LANGUAGE] < tokens > text", args, out); err != nil {
		return err
	}
	detokenizer := tokenize.NewDetokenizer(*language)
	if !detokenizer.OwnRules() {
		fmt.Fprintf(errw, "language %q has no rules of its own: the common ones are used\n", *language)
	}
	return eachLine(in, out, func(line string) (string, error) { return detokenizer.Detokenize(line), nil })
}

func normalizeText(args []string, in io.Reader, out, _ io.Writer) error {
	fs := command.Flags("normalize")
	language := fs.StringP("language", "l", "en", "language of the text, which decides on quotes beside full stops and on decimal commas")
	version := fs.String("moses", "current", "behaviour of Moses to follow: 2017 or current")
	if err := parseFilter(fs, "[-l LANGUAGE] < text > text", args, out); err != nil {
		return err
	}
	parsed, err := tokenize.ParseMosesVersion(*version)
	if err != nil {
		return usagef("-moses: %v", err)
	}
	normalizer := tokenize.NewNormalizer(*language, parsed)
	return eachLineExact(in, out, func(line string) (string, error) { return normalizer.Normalize(line), nil })
}

func truecaseTrain(args []string, in io.Reader, out, _ io.Writer) (err error) {
	fs := command.Flags("truecase-train")
	model := fs.String("model", "", "file to write the model to (required)")
	if err := parseFilter(fs, "-model FILE < tokens", args, out); err != nil {
		return err
	}
	if *model == "" {
		return usagef("-model FILE is missing: the file to write the model to")
	}
	truecaser, err := tokenize.TrainTruecaser(in, "standard input")
	if err != nil {
		return err
	}
	return writeFile(*model, func(w *bufio.Writer) error {
		_, err := truecaser.WriteTo(w)
		return err
	})
}

func truecaseText(args []string, in io.Reader, out, _ io.Writer) error {
	fs := command.Flags("truecase")
	model := fs.String("model", "", "model that truecase-train wrote (required)")
	if err := parseFilter(fs, "-model FILE < tokens > tokens", args, out); err != nil {
		return err
	}
	if *model == "" {
		return usagef("-model FILE is missing: the model that truecase-train wrote")
	}
	truecaser, err := readWith(*model, tokenize.ReadTruecaser)
	if err != nil {
		return err
	}
	return eachLine(in, out, func(line string) (string, error) { return truecaser.Truecase(line), nil })
}

// parseFilter parses the flags of a command that takes no other arguments.
func parseFilter(fs *pflag.FlagSet, usage string, args []string, out io.Writer) error {
	rest, err := parseFlags(fs, usage, args, out)
	if err == nil && len(rest) > 0 {
		return usagef("unexpected argument %q: the text comes from standard input", rest[0])
	}
	return err
}

// writeFile creates a file and has it written.
func writeFile(name string, write func(w *bufio.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		f.Close()
		return err
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
