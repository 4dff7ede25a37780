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
	"slices"

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
	if errors.Is(err, torch.ErrOutOfMemory) {
		err = fmt.Errorf("%w: lower -beam, or translate shorter lines", torch.ErrOutOfMemory)
	}
	command.Exit(err)
}

// widestBeam is the upper end of decode.beam too.
const widestBeam = 1000

// flags are the command line.
type flags struct {
	folder, device, force string
	beam, nbest, threads  int
	lenpen                float64
	scores, replaceUnk    bool
	int8                  bool
	postprocess           string
	skipBad               bool
	given                 *pflag.FlagSet
}

var about = command.Help{
	Name: "translate", Summary: "translate translates raw lines with a trained run, one line of output for each " +
		"line of input.",
	Usage: "-run FOLDER [flags] < raw lines > translations", About: "The input may be packed with gzip or Zstandard.",
}

func parse(args []string) (*flags, error) {
	f := &flags{given: command.Flags("translate")}
	f.given.StringVar(&f.folder, "run", "", "`FOLDER` of a training run")
	f.given.IntVar(&f.beam, "beam", 0, "beam width `N`, 1 for greedy search (default: the run's decode.beam)")
	f.given.Float64Var(&f.lenpen, "lenpen", 0, "exponent `X` of the length penalty (default: the run's decode.lenpen)")
	f.given.IntVar(&f.nbest, "nbest", 0, "print `N` translations of a line, as id TAB score TAB text")
	f.given.BoolVar(&f.scores, "scores", false, "print id TAB score TAB text; the score is the natural log-probability under the length penalty")
	f.given.StringVar(&f.force, "force", "", "score the translations of `FILE`, a line each, instead of searching")
	f.given.BoolVar(&f.replaceUnk, "replace-unk", false, "replace the unknown word by the source word that it attends to most, translated where the run has a lexicon; =false prints it as <unk> (default: the run's decode.replace_unk)")
	f.given.StringVar(&f.postprocess, "postprocess", "", "`NAME`: none, or paper, which is what the vMF authors' program changes (default: the run's decode.postprocess)")
	f.given.BoolVar(&f.skipBad, "skip-bad", false, "for a line that cannot be translated, write an empty line and a warning instead of stopping")
	f.given.BoolVar(&f.int8, "int8", false, "compute with weights of eight bits, on the CPU: faster, and nearly as good")
	f.given.StringVar(&f.device, "device", "auto", "`DEVICE`: cpu, cuda, cuda:N or auto")
	f.given.IntVar(&f.threads, "threads", 0, "`N` CPU threads; 0 uses all that this process may use")
	usage := func(err error) error { return &command.UsageError{Err: err} }
	if err := about.Parse(f.given, args, command.Stdout); err != nil {
		return nil, err
	}
	switch {
	case f.given.NArg() > 0:
		return nil, usage(fmt.Errorf("what is %q? Lines to translate come on standard input", f.given.Arg(0)))
	case f.folder == "":
		return nil, usage(errors.New("-run is missing: give the folder of a training run"))
	case f.given.Changed("beam") && (f.beam < 1 || f.beam > widestBeam):
		return nil, usage(fmt.Errorf("-beam is %d; it must be from 1 to %d", f.beam, widestBeam))
	case !slices.Contains([]string{"", "none", "paper"}, f.postprocess):
		return nil, usage(fmt.Errorf("-postprocess is %q; it must be none or paper", f.postprocess))
	case f.int8 && f.device != "auto" && f.device != "cpu":
		return nil, usage(fmt.Errorf("-int8 computes on the CPU, and -device is %s: leave one of the two out",
			f.device))
	case f.int8 && f.force != "":
		return nil, usage(errors.New("-int8 is for searching, and -force scores with all bits: leave one of the two " +
			"out"))
	case f.given.Changed("nbest") && f.nbest < 1:
		return nil, usage(fmt.Errorf("-nbest is %d; it must be at least 1", f.nbest))
	}
	return f, nil
}

// options are those of a run, changed as the flags say.
func (f *flags) options(o decode.Options) (decode.Options, error) {
	if f.given.Changed("beam") {
		o.Beam = f.beam
	}
	if f.given.Changed("lenpen") {
		o.Lenpen = f.lenpen
	}
	if f.nbest > 0 {
		if o.NBest = f.nbest; o.Beam < o.NBest {
			return o, &command.UsageError{Err: fmt.Errorf("-nbest %d needs a beam of at least that width, not %d: "+
				"raise -beam", o.NBest, o.Beam)}
		}
	}
	if f.given.Changed("replace-unk") {
		o.Alignment = f.replaceUnk
	}
	o.Int8 = f.int8
	o.Postprocess = cmp.Or(f.postprocess, o.Postprocess)
	return o, nil
}

func run(ctx context.Context, f *flags, in io.Reader, out io.Writer) error {
	if f.int8 && f.device == "auto" {
		f.device = "cpu"
	}
	device, err := torch.FindDevice(f.device)
	if err != nil {
		return &command.UsageError{Err: err}
	}
	t, err := translation.Open(f.folder, translation.Options{Device: string(device), Threads: f.threads})
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
	w := &printer{Writer: bufio.NewWriter(out), scored: f.scores || f.nbest > 0}
	if f.force != "" {
		return force(ctx, t, f.force, in, w, o)
	}
	return eachBatch(in, w, t.Settings.Lines.Limit(), func(first int, lines []string) error {
		found, err := t.TranslateNBest(ctx, lines, o)
		if err != nil {
			return err
		}
		for i, list := range found {
			for _, x := range list {
				var bad *translation.LineError
				switch {
				case errors.As(x.Err, &bad) && !f.skipBad:
					return fmt.Errorf("standard input:%d: %w; -skip-bad writes an empty line in its place",
						first+bad.Line, bad.Err)
				case bad != nil:
					fmt.Fprintf(os.Stderr, "translate: standard input:%d: %v; an empty line takes its place\n",
						first+bad.Line, bad.Err)
				}
				w.line(first+i, x.Score, x.Text)
			}
		}
		return nil
	})
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
			return fmt.Errorf("standard input:%d: %w", first+bad.Line, bad.Err)
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

// printer writes results.
type printer struct {
	*bufio.Writer
	scored bool
}

func (p *printer) line(id int, score float64, text string) {
	if p.scored {
		fmt.Fprintf(p, "%d\t%.4f\t", id, score)
	}
	fmt.Fprintln(p, text)
}
