package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

// options are the command line.
type options struct {
	What      string `flag:"what" help:"<SUITE> to measure"`
	JSON      string `flag:"json" help:"<FILE> that receives the results"`
	Only      string `flag:"only" help:"measure the rows whose name matches this regular <EXPRESSION>"`
	Pairs     int    `flag:"pairs" default:"7" range:"[1,inf)" help:"pairs of measurements for a ratio; one of fewer than 7 does not count"`
	ISA       string `flag:"isa" choice:"avx2 avx512 default" help:"instruction <SET> that both sides keep to: avx2, avx512, or default for what each chooses by itself (default: what APERTURE_ISA says)"`
	Device    string `flag:"device" default:"cpu" help:"<DEVICE> of both sides in the suites translation (but for those against CTranslate2), objectives, lm and layers: cpu or cuda[:N]"`
	Threads   int    `flag:"threads" default:"2" range:"[1,inf)" help:"threads of both sides in the suites translation, objectives, lm and layers; the others have their own"`
	Positions int64  `flag:"positions" range:"[1,inf)" help:"positions that method/mos scores at a time: its peer needs 7 MB for each"`
	LoadPairs int    `flag:"load-pairs" default:"5000000" range:"[1000,inf)" help:"sentence pairs of the rows of load that have no peer; their text is made once, in the user's cache"`
	Python    string `flag:"python" help:"Python <PROGRAM> that has the peers' packages"`

	suite  suite
	only   *regexp.Regexp
	device torch.Device
}

// parse reads the command line. After -h, which prints to out, it gives command.ErrHelp.
func parse(args []string, out io.Writer) (options, error) {
	o := options{Positions: mixturePositions, Python: interpreter()}
	about := command.Help{
		Name: "bench", Usage: "-what SUITE [flags]",
		Summary: "bench measures what methods and layers cost on this machine, and how fast Aperture is beside its " +
			"peers.",
		Below:  "Suites: " + suiteNames() + ".",
		NoArgs: "bench takes flags only",
	}
	_, err := about.Read(&o, args, out)
	if err != nil {
		return o, err
	}
	if o.only, err = regexp.Compile(o.Only); err != nil {
		return o, command.Usagef("-only: %w", err)
	}
	if o.suite, err = findSuite(o.What); err != nil {
		return o, err
	}
	if o.device, err = torch.FindDevice(o.Device); err != nil {
		return o, command.Usagef("-device: %w", err)
	}
	switch folder := filepath.Dir(o.JSON); {
	case o.device != torch.CPU && !o.suite.products:
		return o, command.Usagef("-device %s: the rows of %s are work for the CPU", o.Device, o.What)
	case len(o.rows()) == 0:
		return o, command.Usagef("-only %s matches no row of %s: its rows are %s", o.Only, o.What,
			names(o.suite.rows, func(r row) string { return r.name }))
	case o.JSON != "" && !isFolder(folder):
		return o, command.Usagef("-json %s: there is no folder %s", o.JSON, folder)
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
