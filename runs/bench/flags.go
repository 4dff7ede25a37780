package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/aperture-ml/aperture/runs/internal/command"
)

// options are the command line.
type options struct {
	suite   suite
	only    *regexp.Regexp
	json    string
	python  string
	isa     string // the instruction set of both sides; empty for what APERTURE_ISA says
	pairs   int
	threads int
	// positions of method/mos, whose peer needs memory for each
	positions int64
	loadPairs int // sentence pairs of suite load
}

// leastPairs is how many pairs a ratio that counts is made of.
const leastPairs = 7

// parse reads the command line. After -h, which prints to out, it gives command.ErrHelp.
func parse(args []string, out io.Writer) (options, error) {
	var o options
	fs := command.Flags("bench")
	what := fs.String("what", "", "`SUITE` to measure: "+suiteNames())
	fs.StringVar(&o.json, "json", "", "`FILE` that receives the results")
	only := fs.String("only", "", "measure the rows whose name matches this regular `EXPRESSION`")
	fs.IntVar(&o.pairs, "pairs", leastPairs, "pairs of measurements for a ratio")
	fs.StringVar(&o.isa, "isa", "", "instruction `SET` that both sides keep to: avx2, avx512, or default "+
		"for what each chooses by itself (default: what APERTURE_ISA says)")
	fs.IntVar(&o.threads, "threads", 2, "threads of both sides, except for text")
	fs.Int64Var(&o.positions, "positions", mixturePositions,
		"positions that method/mos scores at a time: its peer needs 7 MB for each")
	fs.IntVar(&o.loadPairs, "load-pairs", 5_000_000,
		"sentence pairs of the rows of load that have no peer; their text is made once, in the user's cache")
	fs.StringVar(&o.python, "python", interpreter(), "Python `PROGRAM` that has the peers' packages")
	about := command.Help{
		Name: "bench", Usage: "-what SUITE [flags]",
		Summary: "bench measures what methods and layers cost on this machine, and how fast Aperture is beside its peers.",
	}
	err := about.Parse(fs, args, out)
	if err != nil {
		return o, err
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, command.Usagef("-only: %w", err)
	}
	if o.suite, err = findSuite(*what); err != nil {
		return o, err
	}
	switch folder := filepath.Dir(o.json); {
	case fs.NArg() > 0:
		return o, command.Usagef("unexpected argument %q: bench takes flags only", fs.Arg(0))
	case !slices.Contains([]string{"", "avx2", "avx512", "default"}, o.isa):
		return o, command.Usagef("-isa is %q: it must be avx2, avx512 or default", o.isa)
	case o.pairs < 1:
		return o, command.Usagef("-pairs is %d: at least 1 is needed, and %d for a result that counts", o.pairs,
			leastPairs)
	case o.threads < 1:
		return o, command.Usagef("-threads is %d: at least 1 is needed", o.threads)
	case o.loadPairs < 1000:
		return o, command.Usagef("-load-pairs is %d: at least 1000 are needed", o.loadPairs)
	case o.positions < 1:
		return o, command.Usagef("-positions is %d: at least 1 is needed", o.positions)
	case len(o.rows()) == 0:
		return o, command.Usagef("-only %s matches no row of %s: its rows are %s", *only, *what,
			names(o.suite.rows, func(r row) string { return r.name }))
	case o.json != "" && !isFolder(folder):
		return o, command.Usagef("-json %s: there is no folder %s", o.json, folder)
	}
	return o, nil
}

// rows are those of the suite that were asked for.
func (o options) rows() []row {
	return slices.DeleteFunc(slices.Clone(o.suite.rows), func(r row) bool { return !o.only.MatchString(r.name) })
}

func interpreter() string { return cmp.Or(os.Getenv("APERTURE_PYTHON"), "python3") }

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
