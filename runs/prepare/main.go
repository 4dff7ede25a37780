// Prepare turns a published corpus into the files that a run reads with -data, and prints counts beside the published
// figures.
//
//	go run ./runs/prepare iwslt14 -from downloads -to data/iwslt14
package main

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/tokenize/prepare"
)

func main() {
	command.Exit(command.Guard(func() error {
		options, err := parse(os.Args[1:], command.Stdout)
		if err != nil {
			return err
		}
		ctx, stop := command.Interruptible(context.Background())
		defer stop()
		return run(ctx, options, command.Stdout, os.Stderr)
	}))
}

// parse reads the command line. Help goes to out.
func parse(args []string, out io.Writer) (o prepare.Options, err error) {
	fs := command.Flags("prepare")
	fs.StringVar(&o.From, "from", "",
		"`FOLDER` that holds the archives as they were downloaded, or what was in them (required)")
	fs.StringVar(&o.To, "to", "", "`FOLDER` to write the texts to (required)")
	for _, c := range prepare.Corpora() {
		for _, s := range c.Settings {
			help := s.Help
			if len(s.Choices) > 0 {
				help = strings.Join(s.Choices, " or ") + ": " + help
			}
			if flag := fs.Lookup(s.Name); flag != nil {
				flag.Usage = strings.Replace(flag.Usage, ": ", ", "+c.Name+": ", 1)
				continue
			}
			fs.String(s.Name, s.Default, c.Name+": "+help)
		}
	}
	var corpora strings.Builder
	corpora.WriteString("Corpora:\n")
	for _, c := range prepare.Corpora() {
		command.ListEntry(&corpora, c.Name, c.Title)
	}
	about := command.Help{
		Name: "prepare", Usage: "CORPUS -from FOLDER -to FOLDER [flags]", About: corpora.String(),
		Summary: "prepare makes of a published corpus, as its page offers it, the files that a run reads with -data.",
	}
	if err := about.Parse(fs, args, out); err != nil {
		return o, err
	}
	o.Settings = map[string]string{}
	fs.Visit(func(flag *pflag.Flag) {
		if flag.Name != "from" && flag.Name != "to" {
			o.Settings[flag.Name] = flag.Value.String()
		}
	})
	if fs.NArg() != 1 {
		return o, command.Usagef("name one corpus: prepare CORPUS -from FOLDER -to FOLDER (prepare -h lists them)")
	}
	o.Corpus = fs.Arg(0)
	if err := prepare.Check(o.Corpus, o.Settings); err != nil {
		return o, command.Usagef("%v", err)
	}
	if o.From == "" || o.To == "" {
		return o, command.Usagef("prepare %s needs -from, the folder with the archives, and -to, the folder to write "+
			"to", o.Corpus)
	}
	return o, nil
}

// run prepares the corpus, with a bar on a terminal, and prints the counts.
func run(ctx context.Context, o prepare.Options, out io.Writer, screen *os.File) error {
	var b bar
	if term.IsTerminal(int(screen.Fd())) {
		b.screen = screen
		o.Progress = b.move
	}
	counts, err := prepare.Run(ctx, o)
	b.clear()
	if err != nil {
		err = command.StoppedSay(err, "the texts that were whole stay; run the same command again for the others")
		return files.DiskFullSay(err, "run the same command again")
	}
	return print(out, counts, o)
}
