// Command compare sets training runs side by side: runs that differ in the seed alone become one row, and every row is
// tested against the control.
//
//	go run ./runs/compare experiments/multi30k -out compare.html
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
	Control  string  `flag:"control" help:"<NAME> of the row, or of its method, that the others are tested against (default mle, or else the first)"`
	Out      string  `flag:"out" help:"write a page with tables and charts to <FILE.html>; it needs no other file"`
	Pictures string  `flag:"pictures" help:"write every chart of that page into <FOLDER>, as an SVG file with a legend"`
	Markdown bool    `flag:"markdown" help:"print the table as Markdown; so it does without any of these flags"`
	LaTeX    bool    `flag:"latex" help:"print the table as LaTeX, for the package booktabs"`
	CSV      bool    `flag:"csv" help:"print all numbers as CSV, a line for each row and measure"`
	JSON     bool    `flag:"json" help:"print all numbers and tests as JSON"`
	Isotropy bool    `flag:"isotropy" help:"print, as Markdown, whether runs with more isotropic word vectors have a lower validation loss"`
	Forest   string  `flag:"forest" help:"instead of runs, compare the files of -csv that are named, and draw each method's difference to the control in the loss of a test text, with its interval over seeds, into <FILE.svg>"`
	Claims   string  `flag:"claims" help:"instead of runs, compare the files of -csv that are named, and print, as Markdown, whether the differences that <FILE.toml> says were published held"`
	Power    float64 `flag:"power" range:"(0,inf)" help:"print how many seeds each row needs to find a <DIFFERENCE> of a test text's BLEU, or perplexity, to the control in 80 of 100 experiments"`
	Quick    bool    `flag:"quick" help:"leave the models unopened: no test over blocks of tokens, and no charts that need the matrices"`
	command.CPU
	folders []string
}

var about = command.Help{
	Name: "compare", Usage: "FOLDER... [flags]",
	Summary: "compare sets training runs side by side, and tests each method against the control.",
	About:   "A FOLDER is that of a run, or holds such folders.",
}

func parse(args []string, help io.Writer) (*flags, error) {
	f := &flags{}
	fs, err := about.Read(f, args, help)
	if err != nil {
		return nil, err
	}
	formats := 0
	for _, asked := range []bool{f.Markdown, f.LaTeX, f.CSV, f.JSON, f.Isotropy, f.Power > 0, f.Claims != ""} {
		if asked {
			formats++
		}
	}
	switch f.folders = fs.Args(); {
	case len(f.folders) == 0:
		return nil, command.Usagef("nothing to compare: name the folders of training runs, or a folder that holds them")
	case f.Forest != "" && !strings.EqualFold(filepath.Ext(f.Forest), ".svg"):
		return nil, command.Usagef("-forest %s: it writes a picture there, whose name ends in .svg", f.Forest)
	case f.Out != "" && !strings.EqualFold(filepath.Ext(f.Out), ".html"):
		return nil, command.Usagef("-out %s: it writes a page there, whose name ends in .html", f.Out)
	case f.Forest != "" && (formats > 0 || f.Pictures != "" || f.Out != ""), f.Claims != "" && (f.Pictures != "" ||
		f.Out != "" || f.Control != ""):
		return nil, command.Usagef("-forest and -claims read files of -csv and make one thing of them: leave out all but " +
			"one of them and, beside -forest, -control")
	case formats > 1:
		return nil, command.Usagef("-markdown, -latex, -csv, -json, -isotropy, -power and -claims exclude each other: " +
			"standard output takes one of them")
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
	if f.Forest != "" {
		drawing, err := forest(f.folders, cmp.Or(f.Control, "mle"))
		if err != nil {
			return err
		}
		if err = files.Write(f.Forest, []byte(drawing.File())); err == nil {
			fmt.Fprintf(log, "wrote %s\n", f.Forest)
		}
		return err
	}
	if f.Claims != "" {
		c, err := readClaims(f.Claims)
		if err != nil {
			return err
		}
		table, note, err := c.judge(f.folders)
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, table.Markdown()+"\n"+note+"\n")
		return err
	}
	c, err := compare(f, log)
	if err != nil {
		return err
	}
	write := c.markdown
	switch {
	case f.JSON:
		write = c.json
	case f.CSV:
		write = c.csv
	case f.LaTeX:
		write = c.latex
	case f.Isotropy:
		write = c.isotropy
	case f.Power > 0:
		write = func(w io.Writer) error { return c.needed(w, f.Power) }
	}
	// What is saved comes before what is shown, whose reader may be gone.
	return errors.Join(c.save(f, log), c.show(f, write, out, log))
}

// show writes one form of the comparison.
func (c *comparison) show(f *flags, write func(io.Writer) error, out, log io.Writer) error {
	if err := write(out); err != nil {
		return err
	}
	if f.CSV || f.Isotropy || f.Power > 0 { // which have no place for them
		for _, doubt := range c.doubts() {
			fmt.Fprintln(log, doubt)
		}
	}
	return nil
}

// save writes the pictures and the page that are asked for.
func (c *comparison) save(f *flags, log io.Writer) error {
	if f.Pictures != "" {
		count, err := c.pictures(f.Pictures)
		if err != nil {
			return err
		}
		fmt.Fprintf(log, "wrote %d charts into %s\n", count, f.Pictures)
	}
	if f.Out == "" {
		return nil
	}
	var page bytes.Buffer
	if err := c.page(&page); err != nil {
		return err
	}
	if err := files.Write(f.Out, page.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(log, "wrote %s\n", f.Out)
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
	if c.rows, err = choose(c.rows, f.Control); err != nil {
		return nil, err
	}
	if !f.Quick {
		if err := openModels(runs, f.Threads, log); err != nil {
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
