// Command generate continues a text with a trained language model.
//
//	go run ./runs/generate -run FOLDER -prompt "the market"
package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/language"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	f, err := parse(os.Args[1:], os.Stdout)
	if err == nil {
		err = command.OnTorch(func() error { return run(f, os.Stdout, os.Stderr) })
	}
	command.Exit(err)
}

// flags are the command line.
type flags struct {
	folder, prompt, device string
	words, threads         int
	seed                   uint64
	sampling               language.Sampling
}

func parse(args []string, stdout io.Writer) (*flags, error) {
	f := &flags{}
	fs := pflag.NewFlagSet("generate", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	fs.StringVar(&f.folder, "run", "", "`FOLDER` of a training run")
	fs.StringVar(&f.prompt, "prompt", "", "`TEXT` to continue, words parted by spaces; empty starts a line")
	fs.IntVar(&f.words, "words", 100, "`N` words to add, ends of lines among them")
	fs.Float64Var(&f.sampling.Temperature, "temperature", 1, "below 1 probable words become more so, above 1 less; 0 takes the most probable one")
	fs.IntVar(&f.sampling.TopK, "top-k", 0, "draw among the `N` most probable words; 0: all")
	fs.Float64Var(&f.sampling.TopP, "top-p", 1, "draw among the most probable words that have this probability together")
	fs.Uint64Var(&f.seed, "seed", 1, "seed `N` of the draws")
	fs.StringVar(&f.device, "device", "auto", "cpu, cuda, cuda:N or auto")
	fs.IntVar(&f.threads, "threads", 0, "CPU threads; 0 is as many as this process may use")
	usage := func(err error) error { return &command.UsageError{Err: err} }
	if err := fs.Parse(command.NormalizeArgs(args, fs)); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			fmt.Fprintf(stdout, "Usage: generate -run FOLDER -prompt TEXT [flags]\n\n%s", fs.FlagUsages())
			return nil, command.ErrHelp
		}
		return nil, usage(err)
	}
	for _, rule := range []struct {
		broken bool
		say    string
	}{
		{fs.NArg() > 0, fmt.Sprintf("unexpected argument %q: put the prompt in quotes", fs.Arg(0))},
		{f.folder == "", "-run is missing: give the folder of a training run"},
		{f.words < 0 || f.threads < 0, "-words and -threads are numbers of at least 0"},
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
func run(f *flags, out, warn io.Writer) error {
	device, err := torch.FindDevice(f.device)
	if err != nil {
		return &command.UsageError{Err: err}
	}
	torch.SetThreads(f.threads)
	m, warnings, err := language.Open(f.folder, device)
	for _, w := range warnings {
		fmt.Fprintln(warn, w)
	}
	if err != nil {
		return err
	}
	defer m.Free()
	// A text begins where a line has ended.
	end, _ := m.Words.ID(corpus.EndOfLine)
	prompt := []int32{end}
	for _, word := range strings.Fields(f.prompt) {
		id, known := m.Words.ID(word)
		if !known {
			return fmt.Errorf("-prompt: the model does not know %q, and has no %s to stand for it: use words of its training text", word, corpus.UnknownWord)
		}
		if m.Words.Word(id) != word {
			fmt.Fprintf(warn, "the model does not know %q and reads %s\n", word, corpus.UnknownWord)
		}
		prompt = append(prompt, id)
	}
	var text strings.Builder
	gap := ""
	for _, word := range strings.Fields(f.prompt) {
		text.WriteString(gap + word)
		gap = " "
	}
	for _, id := range m.Continue(prompt, f.words, f.sampling, rand.New(rand.NewPCG(f.seed, 0))) {
		if id == end {
			text.WriteByte('\n')
			gap = ""
			continue
		}
		text.WriteString(gap + m.Words.Word(id))
		gap = " "
	}
	_, err = fmt.Fprintln(out, strings.TrimSuffix(text.String(), "\n"))
	return err
}
