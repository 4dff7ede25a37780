// Command generate continues a text with a trained language model.
//
//	go run ./runs/generate -run FOLDER -prompt "the market"
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	f, err := parse(os.Args[1:], command.Stdout)
	if err == nil {
		err = command.On(torch.Main, func() error { return run(context.Background(), f, command.Stdout, os.Stderr) })
	}
	command.Exit(err)
}

// flags are the command line.
type flags struct {
	folder, prompt, device string
	threads                int
	sampling               language.SampleOptions
}

var about = command.Help{
	Name: "generate", Usage: "-run FOLDER -prompt TEXT [flags]",
	Summary: "generate continues a text with a trained language model.",
}

func parse(args []string, stdout io.Writer) (*flags, error) {
	f := &flags{}
	fs := command.Flags("generate")
	fs.StringVar(&f.folder, "run", "", "`FOLDER` of a training run")
	fs.StringVar(&f.prompt, "prompt", "", "`TEXT` to continue, words separated by spaces; empty starts a line")
	fs.IntVar(&f.sampling.Words, "words", 100, "`N` words to add; the end of a line counts as one")
	fs.Float64Var(&f.sampling.Temperature, "temperature", 1, "`X`: below 1 makes probable words more probable, above 1 less; 0 always takes the most probable word")
	fs.IntVar(&f.sampling.TopK, "top-k", 0, "draw among the `N` most probable words; 0: all")
	fs.Float64Var(&f.sampling.TopP, "top-p", 1, "draw among the fewest words that have the probability `P` together")
	fs.Uint64Var(&f.sampling.Seed, "seed", 1, "seed `N` of the draws")
	fs.StringVar(&f.device, "device", "auto", "`DEVICE`: cpu, cuda, cuda:N or auto")
	fs.IntVar(&f.threads, "threads", 0, "`N` CPU threads; 0 uses all that this process may use")
	usage := func(err error) error { return &command.UsageError{Err: err} }
	if err := about.Parse(fs, args, stdout); err != nil {
		return nil, err
	}
	for _, rule := range []struct {
		broken bool
		say    string
	}{
		{fs.NArg() > 0, fmt.Sprintf("unexpected argument %q: put the prompt in quotes", fs.Arg(0))},
		{f.folder == "", "-run is missing: give the folder of a training run"},
		{f.sampling.Words < 1 || f.threads < 0, "-words is a number of at least 1, and -threads of at least 0"},
		{!(f.sampling.Temperature >= 0), "-temperature is a number of at least 0"},
		{f.sampling.TopK < 0, "-top-k is a number of at least 0"},
		{!(f.sampling.TopP > 0 && f.sampling.TopP <= 1), "-top-p is a number above 0 and at most 1"},
	} {
		if rule.broken {
			return nil, usage(errors.New(rule.say))
		}
	}
	return f, nil
}

// run prints the prompt and its continuation.
func run(ctx context.Context, f *flags, out, warn io.Writer) error {
	m, err := language.Open(f.folder, language.Options{Device: f.device, Threads: f.threads})
	if err != nil {
		return err
	}
	defer m.Close()
	for _, w := range m.Warnings {
		fmt.Fprintln(warn, w)
	}
	for _, word := range strings.Fields(f.prompt) {
		if id, known := m.Words.ID(word); known && m.Words.Word(id) != word {
			fmt.Fprintf(warn, "the model does not know %q and reads %s\n", word, corpus.UnknownWord)
		}
	}
	text, err := m.Sample(ctx, f.prompt, f.sampling)
	if err != nil {
		return fmt.Errorf("-prompt: %w", err)
	}
	_, err = fmt.Fprintln(out, text)
	return err
}
