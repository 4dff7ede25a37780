// Command translate translates raw lines from standard input with a trained run,
// one line of output for each line of input.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	f, err := parse(os.Args[1:])
	if err == nil {
		err = command.On(torch.Main, func() error { return run(context.Background(), f, os.Stdin, command.Stdout) })
	}
	advice := ": lower -beam, or translate shorter lines"
	if f != nil && f.Force != "" {
		advice = ": score shorter lines"
	}
	command.Exit(torch.AdviseOnMemory(err, advice))
}

// flags are the command line.
type flags struct {
	Run         string   `flag:"run" needed:"give the folder of a training run" help:"<FOLDER> of a training run"`
	Beam        int      `flag:"beam" not:"force" range:"[1,1000]" help:"beam width <N>, 1 for greedy search (default: the run's decode.beam)"`
	Lenpen      float64  `flag:"lenpen" not:"force" range:"[-10,10]" help:"exponent <X> of the length penalty (default: the run's decode.lenpen)"`
	NBest       int      `flag:"nbest" not:"force" range:"[1,inf)" help:"print <N> translations of a line, as id TAB score TAB text"`
	Scores      bool     `flag:"scores" help:"print id TAB score TAB text; the score is the natural log-probability under the length penalty"`
	Force       string   `flag:"force" help:"score the translations of <FILE>, a line each, instead of searching, by their natural log-probability, without a length penalty"`
	ReplaceUnk  bool     `flag:"replace-unk" not:"force" help:"replace the unknown word by the source word that it attends to most, translated where the run has a lexicon; =false prints it as <unk> (default: the run's decode.replace_unk)"`
	Postprocess string   `flag:"postprocess" not:"force" choice:"none paper" help:"<NAME>: none, or paper, which is what the vMF authors' program changes (default: the run's decode.postprocess)"`
	SkipBad     bool     `flag:"skip-bad" not:"force" help:"for a line that cannot be translated, write an empty line and a warning instead of stopping"`
	Prefix      string   `flag:"prefix" not:"force" help:"begin each translation with the same line of <FILE>; an empty line asks for nothing"`
	Terms       string   `flag:"terms" not:"force" help:"translate the terms of <FILE>, lines of source TAB target, as it says"`
	Keep        []string `flag:"keep" not:"force" help:"what matches <REGEX> stands in the translation unchanged (repeatable)"`
	Align       bool     `flag:"align" not:"force" help:"print links between words of the line and of its translation behind a tab, as 0-0 1-2"`
	Confidence  bool     `flag:"confidence" not:"force" help:"print the probability of a symbol and that of each word behind a tab, separated by spaces"`
	JSON        bool     `flag:"json" not:"force align confidence scores" help:"print an object a line: text, score, words with confidence and source words, and the translations of -nbest"`
	Int8        bool     `flag:"int8" not:"force" help:"compute with weights of eight bits, on the CPU: faster, and nearly as good"`
	Shortlist   string   `flag:"shortlist" not:"force" help:"keep each translation to the pieces that <FILE> has for its line, which runs/text shortlist makes: faster where the vocabulary is large"`
	command.Machine

	given *pflag.FlagSet
}

var about = command.Help{
	Name: "translate", Usage: "-run FOLDER [flags] < raw lines > translations",
	Summary: "translate translates raw lines with a trained run, one line of output for each line of input.",
	About:   "The input may be packed with gzip or Zstandard.",
	NoArgs:  "lines to translate come on standard input",
}

func parse(args []string) (f *flags, err error) {
	f = &flags{}
	if f.given, err = about.Read(f, args, command.Stdout); err != nil {
		return nil, err
	}
	if f.Int8 && f.Device != "auto" && f.Device != "cpu" {
		return nil, command.Usagef("-int8 computes on the CPU, and -device is %s: leave one of the two out", f.Device)
	}
	return f, nil
}

// options are those of a run, changed as the flags say.
func (f *flags) options(o decode.Options) (decode.Options, error) {
	if f.given.Changed("beam") {
		o.Beam = f.Beam
	}
	if f.given.Changed("lenpen") {
		o.Lenpen = f.Lenpen
	}
	if f.NBest > 0 {
		if o.NBest = f.NBest; o.Beam < o.NBest {
			return o, &command.UsageError{Err: fmt.Errorf("-nbest %d needs a beam of at least that width, not %d: "+
				"raise -beam", o.NBest, o.Beam)}
		}
	}
	if f.given.Changed("replace-unk") {
		o.Alignment = f.ReplaceUnk
	}
	o.Int8 = f.Int8
	o.Words, o.Links = f.Confidence, f.Align || f.JSON
	o.Postprocess = cmp.Or(f.Postprocess, o.Postprocess)
	return o, nil
}

func run(ctx context.Context, f *flags, in io.Reader, out io.Writer) error {
	if f.Int8 && f.Device == "auto" {
		f.Device = "cpu"
	}
	device, err := torch.FindDevice(f.Device)
	if err != nil {
		return &command.UsageError{Err: err}
	}
	t, err := translation.Open(f.Run, translation.Options{Device: string(device), Threads: f.Threads})
	if err != nil {
		return err
	}
	defer t.Close()
	for _, w := range t.Warnings {
		fmt.Fprintln(os.Stderr, w)
	}
	o, err := f.options(t.Settings.Decode)
	if err != nil {
		return err
	}
	if f.Shortlist != "" {
		if o.Shortlist, err = t.ReadShortlist(f.Shortlist); err != nil {
			return err
		}
	}
	w := &printer{
		Writer: bufio.NewWriter(out), scored: f.Scores || f.NBest > 0, json: f.JSON, links: f.Align,
		confidence: f.Confidence,
	}
	if f.Force != "" {
		return force(ctx, t, f.Force, in, w, o)
	}
	demands, err := f.demands(ctx, t)
	if err != nil {
		return err
	}
	count := 0
	err = eachBatch(in, w, t.Settings.Lines.Limit(), func(first int, lines []string) error {
		count = first + len(lines)
		requests, err := demands.of(first, lines)
		if err != nil {
			return err
		}
		found, err := t.TranslateRequests(ctx, requests, o)
		if err != nil {
			return err
		}
		for i, list := range found {
			for _, x := range list {
				var bad *translation.LineError
				switch {
				case errors.As(x.Err, &bad) && !f.SkipBad:
					return fmt.Errorf("standard input:%d: %w; -skip-bad writes an empty line in its place",
						first+bad.Line, bad.Err)
				case bad != nil:
					fmt.Fprintf(os.Stderr, "translate: standard input:%d: %v; an empty line takes its place\n",
						first+bad.Line, bad.Err)
				}
			}
			w.translations(first+i, list)
		}
		return nil
	})
	if err == nil {
		err = demands.allUsed(count)
	}
	return err
}

// force prints the score of each translation of a file.
func force(ctx context.Context, t *translation.Translator, path string, in io.Reader, w *printer,
	o decode.Options) error {
	given, err := t.Settings.Lines.ReadLines(path, "-force")
	if err != nil {
		return err
	}
	w.scored = true
	count := 0
	err = eachBatch(in, w, t.Settings.Lines.Limit(), func(first int, lines []string) error {
		count = first + len(lines)
		if count > len(given.Lines) {
			return fmt.Errorf("%s has %d lines, and standard input has more: give one translation for each line", path,
				len(given.Lines))
		}
		targets := given.Lines[first:count]
		scores, err := t.Force(ctx, lines, targets, o)
		var bad *translation.LineError
		if errors.As(err, &bad) {
			file := "standard input"
			if bad.Given {
				file = path
			}
			return fmt.Errorf("%s:%d: %w", file, first+bad.Line, bad.Err)
		}
		if err != nil {
			return err
		}
		for i, s := range scores {
			w.line(first+i, s.LogProb, targets[i])
		}
		return nil
	})
	if err == nil && count < len(given.Lines) {
		err = fmt.Errorf("%s has %d lines, and standard input has %d: give one translation for each line", path,
			len(given.Lines), count)
	}
	return err
}
