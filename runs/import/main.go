// Command import makes a run folder of a translator, or a GPT-2, that another program left.
//
//	go run ./runs/import -from opus-mt-en-de -to experiments/opus-mt-en-de
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
)

func main() {
	f, err := parse(os.Args[1:], command.Stdout)
	if err == nil {
		err = command.On(torch.Main, func() error { return run(f, os.Stderr) })
	}
	command.Exit(err)
}

// flags are the command line.
type flags struct {
	From   string `flag:"from" needed:"give the model to import" help:"<PATH> of the model: a folder of transformers, or a folder or ZIP archive of OPUS-MT"`
	To     string `flag:"to" needed:"give the run folder to make" help:"run <FOLDER> to make, which does not exist yet"`
	Source string `flag:"src" help:"<LANGUAGE> translated from (default: as the model says)"`
	Target string `flag:"tgt" help:"<LANGUAGE> translated into (default: as the model says)"`
}

var about = command.Help{
	Name: "import", Usage: "-from PATH -to FOLDER [-src en -tgt de]",
	Summary: "import makes a run folder of a translator, or a GPT-2, that another program left.",
	About: "Marian and OPUS-MT models are read, GPT-2 in transformers' form, and folders of transformers that " +
		"runs/export writes.",
	NoArgs: "the model is given with -from, the run folder to make with -to",
}

func parse(args []string, help io.Writer) (*flags, error) {
	f := &flags{}
	if _, err := about.Read(f, args, help); err != nil {
		return nil, err
	}
	if (f.Source == "") != (f.Target == "") {
		return nil, command.Usagef("-src and -tgt name both languages: give the other one as well")
	}
	return f, nil
}

// foreign is a model that was read.
type foreign struct {
	write func(folder string) error // fills a run folder
	notes []string                  // what could not be taken over, in sentences
	what  string                    // the model, for the reader
}

// run imports, on the torch thread; log takes notes and what was done.
func run(f *flags, log io.Writer) error {
	if err := files.Vacant(f.To); err != nil {
		return err
	}
	read := readTranslator
	if exchange.IsGPT2(f.From) {
		if read = readGPT; f.Source != "" || f.Target != "" {
			return command.Usagef("-src and -tgt are languages of a translator, and %s is a GPT-2: leave them out", f.From)
		}
	}
	m, err := read(f)
	if err != nil {
		return err
	}
	if err := files.WriteFolder(f.To, m.write); err != nil {
		return err
	}
	for _, note := range m.notes {
		fmt.Fprintf(log, "import: %s\n", note)
	}
	fmt.Fprintf(log, "wrote %s: %s\n", f.To, m.what)
	return nil
}

// readTranslator reads a translator in any form but GPT-2's.
func readTranslator(f *flags) (foreign, error) {
	given := exchange.Given{Text: experiment.Default().Data.TextSettings}
	if f.Source != "" {
		given.Languages, given.Text.Source, given.Text.Target = true, f.Source, f.Target
	}
	m, err := exchange.Read(f.From, given)
	if err != nil {
		return foreign{}, err
	}
	return foreign{
		write: func(folder string) error { return write(folder, m) },
		notes: m.Notes,
		what: fmt.Sprintf("%s to %s, %d and %d layers of width %d", m.Text.Source, m.Text.Target, m.EncoderLayers,
			m.DecoderLayers, m.Width),
	}, nil
}
