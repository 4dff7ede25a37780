// Command sweep searches settings of methods fairly: every method, the control among them, gets the same number of
// trials over the same ranges, the trials are judged by the validation text alone, and the test texts are scored for
// what was chosen, with several seeds. What has run lies in run folders, so that a sweep that was stopped or killed
// goes on where it was.
//
//	go run ./runs/sweep sweep.toml -dry-run
//	go run ./runs/sweep sweep.toml -jobs 2
package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

func main() {
	command.Resumes()
	command.Exit(command.Guard(func() error {
		ctx, stop := command.Interruptible(context.Background())
		defer stop()
		return run(ctx, os.Args[1:], command.Stdout, command.Screen(os.Stderr))
	}))
}

// flags are the command line.
type flags struct {
	Out    string `flag:"out" help:"<FOLDER> of the sweep (default: experiments/sweeps/ and the file's name without .toml)"`
	Jobs   int    `flag:"jobs" range:"[1,inf)" help:"train <N> runs at a time, in place of the file's jobs"`
	Resume string `flag:"resume" default:"false" bare:"true" choice:"true false auto" help:"continue the sweep in that folder; -resume=auto begins one where there is none"`
	Retry  bool   `flag:"retry" with:"resume" help:"with -resume: try trials that failed once more"`
	Table  bool   `flag:"table" help:"print the table of what has run so far, and stop; the sweep may be running"`
	CSV    bool   `flag:"csv" help:"print every trial that has ended as CSV, and stop; the sweep may be running"`
	Dry    bool   `flag:"dry-run" help:"check every trial, print the commands and about how long they take, and stop; trains nothing, and runs only programs under runs/"`
	file   string
}

func parse(args []string, help io.Writer) (*flags, error) {
	f := &flags{}
	fs, err := command.Help{
		Name: "sweep", Usage: "FILE.toml [flags]",
		Summary: "sweep searches the settings of methods, as hard for the control as for the others, and scores what " +
			"was chosen with several seeds.",
		Below: "Keys of FILE.toml:\n\n" + schema.Print(&defaults, "") + spaceHelp,
	}.Read(f, args, help)
	switch {
	case err != nil:
		return nil, err
	case fs.NArg() != 1:
		return nil, command.Usagef("name one file that says what to search, as in sweep FILE.toml (sweep -h shows its " +
			"keys)")
	case f.Dry && (f.Resume != "false" || f.Table || f.CSV):
		return nil, command.Usagef("-dry-run trains nothing: leave out -resume, -table and -csv")
	case f.Table && f.CSV:
		return nil, command.Usagef("-table and -csv exclude each other: standard output takes one of them")
	}
	f.file = fs.Arg(0)
	return f, nil
}

// run does what the command line says.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	f, err := parse(args, out)
	if err != nil {
		return err
	}
	s, err := readSearch(f.file)
	if err != nil {
		return err
	}
	if f.Out == "" {
		f.Out = filepath.Join("experiments", "sweeps", strings.TrimSuffix(filepath.Base(f.file), ".toml"))
	}
	if all := parts(s, f); all != nil {
		if f.CSV {
			return command.Usagef("%s names several searches, and -csv prints one: name its file, and its folder with "+
				"-out", f.file)
		}
		return runParts(ctx, all, out, log)
	}
	return runSearch(ctx, s, f, out, log)
}

// runSearch does it for one search.
func runSearch(ctx context.Context, s *search, f *flags, out, log io.Writer) error {
	if f.Jobs > 0 {
		s.Jobs = f.Jobs
	}
	if f.Dry {
		return dry(s, f.Out, out, log)
	}
	if f.Table || f.CSV {
		w, err := look(s, f.Out)
		if err != nil {
			return err
		}
		if f.CSV {
			return w.csv(out)
		}
		return w.show(out)
	}
	w, err := open(s, f, log)
	if err != nil {
		return err
	}
	defer w.lock.Close()
	if err := w.work(ctx); err != nil {
		return err
	}
	return w.show(out)
}

// show prints the table.
func (w *sweep) show(out io.Writer) error {
	table, err := w.table()
	if err == nil {
		_, err = io.WriteString(out, table)
	}
	return err
}
