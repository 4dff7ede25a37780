// Command compare sets training runs side by side: runs that differ in the seed alone become one row, and every row is
// tested against the control.
//
//	go run ./runs/compare experiments/multi30k -out compare.html
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

func main() {
	f, err := parse(os.Args[1:], command.Stdout)
	if err == nil {
		err = command.Guard(func() error { return run(f, command.Stdout, os.Stderr) })
	}
	command.Exit(err)
}

// flags are the command line.
type flags struct {
	folders                    []string
	control, out, pictures     string
	json, csv, latex, markdown bool
	isotropy, quick            bool
	threads                    int
}

var about = command.Help{
	Name: "compare", Usage: "FOLDER... [flags]",
	Summary: "compare sets training runs side by side, and tests each method against the control.",
	About:   "A FOLDER is that of a run, or holds such folders.",
}

func parse(args []string, help io.Writer) (*flags, error) {
	f := &flags{}
	fs := command.Flags("compare")
	fs.StringVar(&f.control, "control", "", "`NAME` of the row, or of its method, that the others are tested against (default mle, or else the first)")
	fs.StringVar(&f.out, "out", "", "write a page with tables and charts to `FILE.html`; it needs no other file")
	fs.StringVar(&f.pictures, "pictures", "", "write every chart of that page into `FOLDER`, as an SVG file with a legend")
	fs.BoolVar(&f.markdown, "markdown", false, "print the table as Markdown; so it does without any of these flags")
	fs.BoolVar(&f.latex, "latex", false, "print the table as LaTeX, for the package booktabs")
	fs.BoolVar(&f.csv, "csv", false, "print all numbers as CSV, a line for each row and measure")
	fs.BoolVar(&f.json, "json", false, "print all numbers and tests as JSON")
	fs.BoolVar(&f.isotropy, "isotropy", false, "print, as Markdown, whether runs with more isotropic word vectors have a lower validation loss")
	fs.BoolVar(&f.quick, "quick", false, "leave the models unopened: no test over blocks of tokens, and no charts that need the matrices")
	fs.IntVar(&f.threads, "threads", 0, "`N` CPU threads; 0 uses all that this process may use")
	if err := about.Parse(fs, args, help); err != nil {
		return nil, err
	}
	formats := 0
	for _, asked := range []bool{f.markdown, f.latex, f.csv, f.json, f.isotropy} {
		if asked {
			formats++
		}
	}
	switch f.folders = fs.Args(); {
	case len(f.folders) == 0:
		return nil, command.Usagef("nothing to compare: name the folders of training runs, or a folder that holds them")
	case formats > 1:
		return nil, command.Usagef("-markdown, -latex, -csv, -json and -isotropy exclude each other: standard " +
			"output takes one of them")
	case f.threads < 0:
		return nil, command.Usagef("-threads is %d: it cannot be negative", f.threads)
	}
	return f, nil
}

// comparison is all that was found.
type comparison struct {
	rows     []*row // the control first
	measures []measure
	scores   [][]summary  // by measure, then by row
	texts    [][]textTest // by row, then by test text; none for the control
}

func (c *comparison) control() *row { return c.rows[0] }

// run compares what the flags name. Results go to out, all else to log.
func run(f *flags, out, log io.Writer) error {
	c, err := compare(f, log)
	if err != nil {
		return err
	}
	write := c.markdown
	switch {
	case f.json:
		write = c.json
	case f.csv:
		write = c.csv
	case f.latex:
		write = c.latex
	case f.isotropy:
		write = c.isotropy
	}
	if err := write(out); err != nil {
		return err
	}
	if f.pictures != "" {
		count, err := c.pictures(f.pictures)
		if err != nil {
			return err
		}
		fmt.Fprintf(log, "wrote %d charts into %s\n", count, f.pictures)
	}
	if f.out == "" {
		return nil
	}
	var page bytes.Buffer
	if err := c.page(&page); err != nil {
		return err
	}
	if err := files.Write(f.out, page.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(log, "wrote %s\n", f.out)
	return nil
}

func compare(f *flags, log io.Writer) (*comparison, error) {
	folders, err := find(f.folders)
	if err != nil {
		return nil, err
	}
	runs, err := load(folders, log)
	if err != nil {
		return nil, err
	}
	c := &comparison{}
	if c.rows, err = group(runs); err != nil {
		return nil, err
	}
	if c.rows, err = choose(c.rows, f.control); err != nil {
		return nil, err
	}
	if !f.quick {
		if err := openModels(runs, f.threads, log); err != nil {
			return nil, err
		}
	}
	if err := count(runs); err != nil {
		return nil, err
	}
	c.measures = numbersOf(runs)
	c.scores = summaries(c.rows, c.measures)
	c.texts, err = textTests(c.rows, log)
	return c, err
}
