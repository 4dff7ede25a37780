// Command generate continues a text with a trained language model.
//
//	go run ./runs/generate -run FOLDER -prompt "the market"
package main

import (
	"context"
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
	Run         string  `flag:"run" needed:"give the folder of a training run" help:"<FOLDER> of a training run"`
	Prompt      string  `flag:"prompt" help:"<TEXT> to continue, words separated by spaces, or any text where the model reads pieces; empty starts a line"`
	Words       int     `flag:"words" default:"100" range:"[1,inf)" help:"<N> words, or pieces, to add; the end of a line counts as one"`
	Temperature float64 `flag:"temperature" not:"contrastive" default:"1" range:"[0,inf)" help:"<X>: below 1 makes probable words more probable, above 1 less; 0 always takes the most probable word"`
	TopK        int     `flag:"top-k" range:"[0,inf)" help:"draw among the <N> most probable words; 0: all"`
	TopP        float64 `flag:"top-p" not:"contrastive" default:"1" range:"(0,1]" help:"draw among the fewest words that have the probability <P> together"`
	MinP        float64 `flag:"min-p" not:"contrastive" range:"[0,1]" help:"draw among words that have at least the share <P> of the best word's probability; 0: all"`
	Typical     float64 `flag:"typical" not:"contrastive" default:"1" range:"(0,1]" help:"draw among the words whose information is nearest to the entropy and that have the probability <P> together"`
	Repetition  float64 `flag:"repetition" default:"1" range:"(0,inf)" help:"multiply log-probabilities of words that the text has already by <X>: above 1 they become less probable"`
	Contrastive float64 `flag:"contrastive" range:"[0,1]" help:"contrastive search: take the word with the best of (1 - <X>) times its probability less X times how alike its hidden state is to those before, among the 5, or -top-k, most probable; 0: draw. The authors recommend 0.6"`
	Seed        uint64  `flag:"seed" not:"contrastive" default:"1" help:"seed <N> of the draws"`
	command.Machine
}

var about = command.Help{
	Name: "generate", Usage: "-run FOLDER -prompt TEXT [flags]", NoArgs: "put the prompt in quotes",
	Summary: "generate continues a text with a trained language model.",
}

func parse(args []string, stdout io.Writer) (*flags, error) {
	f := &flags{}
	_, err := about.Read(f, args, stdout)
	return f, err
}

// run prints the prompt and its continuation.
func run(ctx context.Context, f *flags, out, warn io.Writer) error {
	device, err := torch.FindDevice(f.Device)
	if err != nil {
		return &command.UsageError{Err: err}
	}
	m, err := language.Open(f.Run, language.Options{Device: string(device), Threads: f.Threads})
	if err != nil {
		return err
	}
	defer m.Close()
	for _, w := range m.Warnings {
		fmt.Fprintln(warn, w)
	}
	for _, word := range strings.Fields(f.Prompt) {
		if id, known := m.Words.ID(word); m.Words.Pieces() == nil && known && m.Words.Word(id) != word {
			fmt.Fprintf(warn, "the model does not know %q and reads %s\n", word, corpus.UnknownWord)
		}
	}
	text, err := m.Sample(ctx, f.Prompt, language.SampleOptions{
		Words: f.Words, Repetition: f.Repetition, Temperature: f.Temperature, TopK: f.TopK, TopP: f.TopP, MinP: f.MinP,
		Typical: f.Typical, Contrastive: f.Contrastive, Seed: f.Seed,
	})
	if err != nil {
		return fmt.Errorf("-prompt: %w", err)
	}
	_, err = fmt.Fprintln(out, text)
	return err
}
