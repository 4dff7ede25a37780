package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

// options are the command line.
type options struct {
	What      string `flag:"what" help:"<SUITE> to measure, of those below"`
	JSON      string `flag:"json" help:"<FILE> that receives the results"`
	Only      string `flag:"only" help:"measure the rows whose name matches this regular <EXPRESSION>"`
	Pairs     int    `flag:"pairs" default:"7" range:"[1,inf)" help:"pairs of measurements for a ratio; a result that counts has at least 7"`
	ISA       string `flag:"isa" choice:"avx2 avx512 default" help:"instruction <SET> that both sides keep to: avx2, avx512, or default for what each chooses by itself (default: what APERTURE_ISA says)"`
	Threads   int    `flag:"threads" default:"2" range:"[1,inf)" help:"threads of both sides, except for text"`
	Positions int64  `flag:"positions" range:"[1,inf)" help:"positions that method/mos scores at a time: its peer needs 7 MB for each"`
	LoadPairs int    `flag:"load-pairs" default:"5000000" range:"[1000,inf)" help:"sentence pairs of the rows of load that have no peer; their text is made once, in the user's cache"`
	Python    string `flag:"python" help:"Python <PROGRAM> that has the peers' packages"`

	suite suite
	only  *regexp.Regexp
}

func usagef(format string, args ...any) error {
	return &command.UsageError{Err: fmt.Errorf(format, args...)}
}

// parse reads the command line. After -h, which prints to out, it gives command.ErrHelp.
func parse(args []string, out io.Writer) (options, error) {
	o := options{Positions: mixturePositions, Python: interpreter()}
	_, err := command.Help{
		Name: "bench", Usage: "-what SUITE [flags]",
		Summary: "bench measures this machine: what methods and layers cost, and how fast Aperture is beside its peers.",
		Below:   "Suites: " + suiteNames(),
		NoArgs:  "bench takes flags only",
	}.Read(&o, args, out)
	if err != nil {
		return o, err
	}
	if o.only, err = regexp.Compile(o.Only); err != nil {
		return o, usagef("-only: %w", err)
	}
	if o.suite, err = findSuite(o.What); err != nil {
		return o, err
	}
	switch folder := filepath.Dir(o.JSON); {
	case len(o.rows()) == 0:
		return o, usagef("-only %s matches no row of %s: its rows are %s", o.Only, o.What, o.suite.rowNames())
	case o.JSON != "" && !isFolder(folder):
		return o, usagef("-json %s: there is no folder %s", o.JSON, folder)
	}
	return o, nil
}

// rows are those of the suite that were asked for.
func (o options) rows() []row {
	var rows []row
	for _, r := range o.suite.rows {
		if o.only.MatchString(r.name) {
			rows = append(rows, r)
		}
	}
	return rows
}

func interpreter() string {
	if python := os.Getenv("APERTURE_PYTHON"); python != "" {
		return python
	}
	return "python3"
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
