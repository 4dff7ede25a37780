// Command export writes the translator of a run, or its GPT, in the format of another program.
//
//	go run ./runs/export -run experiments/own/mle-portable-seed1 -to argos -out en_de.argosmodel
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	f, err := parse(os.Args[1:], command.Stdout)
	if err == nil {
		err = command.On(torch.Main, func() error { return run(context.Background(), f, os.Stderr) })
	}
	command.Exit(err)
}

// flags are the command line.
type flags struct {
	Run      string `flag:"run" needed:"give the folder of a training run" help:"<FOLDER> of a training run"`
	To       string `flag:"to" needed:"give ctranslate2, argos or hf" choice:"ctranslate2 argos hf" help:"<FORMAT>: ctranslate2, a folder for CTranslate2; argos, a package that Argos Translate and LibreTranslate install; hf, a folder for Hugging Face's transformers"`
	Out      string `flag:"out" needed:"give the path to write" help:"<PATH> to write, which does not exist yet: a folder, for argos a file"`
	Quantise string `flag:"quantise" choice:"int8 int16 float16 bfloat16" help:"keep weights as <TYPE> on disk: int8, int16, float16 or bfloat16 (default: float32)"`
	Tokens   bool   `flag:"force-tokens" help:"write the model without its text path, for text that is tokenised outside"`
}

var about = command.Help{
	Name: "export", Usage: "-run FOLDER -to ctranslate2|argos|hf -out PATH [flags]",
	Summary: "export writes the translator, or the GPT, of a run in the format of another program.",
	NoArgs:  "the run is given with -run, the path to write with -out",
}

func parse(args []string, help io.Writer) (*flags, error) {
	f := &flags{}
	if _, err := about.Read(f, args, help); err != nil {
		return nil, err
	}
	switch {
	case f.To == "argos" && f.Tokens:
		return nil, command.Usagef("-force-tokens leaves the text path out, and a package for Argos Translate has " +
			"one: export with -to ctranslate2")
	case f.To == "hf" && (f.Quantise == "int8" || f.Quantise == "int16"):
		return nil, command.Usagef("-quantise %s: transformers reads float32, float16 and bfloat16: quantise to one "+
			"of these, or export with -to ctranslate2", f.Quantise)
	}
	return f, nil
}

// run exports; log takes warnings and what was done.
func run(ctx context.Context, f *flags, log io.Writer) error {
	if err := files.Vacant(f.Out); err != nil {
		return err
	}
	o := exchange.Options{Quantise: exchange.Format(f.Quantise), Tokens: f.Tokens}
	if kind, err := kindOf(f.Run); err == nil && kind == "gpt" {
		return exportGPT(ctx, f, o, log)
	}
	m, settings, warnings, err := read(ctx, f.Run)
	for _, w := range warnings {
		fmt.Fprintln(log, w)
	}
	if err != nil {
		return err
	}
	switch f.To {
	case "argos":
		err = writeArgos(f.Out, m, o)
	case "hf":
		err = files.WriteFolder(f.Out, func(folder string) error { return exchange.WriteHuggingFace(folder, m, o) })
	default:
		err = files.WriteFolder(f.Out, func(folder string) error { return exchange.WriteCTranslate2(folder, m, o) })
	}
	if err := advised(err, f.To); err != nil {
		return err
	}
	if m.Text.Tokenize == "current" && !f.Tokens {
		fmt.Fprintln(log, `export: this run has data.tokenize = "current", and sacremoses follows the edition of 2017: a line `+
			"in some thousands is split otherwise")
	}
	for _, key := range leftOut(settings, f.To) {
		fmt.Fprintf(log, "export: the program there has nothing like %s, and translates otherwise\n", key)
	}
	fmt.Fprintf(log, "wrote %s\n", f.Out)
	return nil
}

// advised is an error with what the command can do about it.
func advised(err error, format string) error {
	var refusal *exchange.Refusal
	if errors.As(err, &refusal) && refusal.Text && format != "argos" {
		return fmt.Errorf("%w, or give -force-tokens, which writes the model alone", err)
	}
	return err
}

// writeArgos writes a package, whose model is made in a folder beside it first.
func writeArgos(path string, m *exchange.Model, o exchange.Options) error {
	w, err := files.Create(path)
	if err != nil {
		return err
	}
	defer w.Discard()
	scratch, err := os.MkdirTemp(filepath.Dir(path), files.TempPattern(path))
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if err := exchange.WriteArgos(w, scratch, m, o); err != nil {
		return err
	}
	return w.Commit()
}
