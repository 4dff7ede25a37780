package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

// suite is a group of rows that -what names.
type suite struct {
	name     string
	rows     []row
	products bool // whether its rows are matrix products of this process in the main, which the machine's peak bounds
}

// row is a line of the table: a piece of work for us and a peer.
type row struct {
	name, unit string // the unit is that of the figures ours and peer
	prepare    func(b *bench, r *race) error
}

// suites is the table of all that can be measured.
func suites() []suite {
	return []suite{
		{"text", textRows, false},
		{"translation", translationRows, true},
		{"objectives", objectiveRows, true},
		{"lm", lmRows, true},
		{"layers", layerRows(), true},
		{"load", loadRows(), false},
		{"scale", scaleRows, false},
	}
}

// names lists names for a sentence.
func names[T any](all []T, name func(T) string) string {
	var list []string
	for _, x := range all {
		list = append(list, name(x))
	}
	return strings.Join(list, ", ")
}

func suiteNames() string { return names(suites(), func(s suite) string { return s.name }) }

func findSuite(name string) (suite, error) {
	all := suites()
	if i := slices.IndexFunc(all, func(s suite) bool { return s.name == name }); i >= 0 {
		return all[i], nil
	}
	if name == "" {
		return suite{}, command.Usagef("say with -what which suite to measure: %s", suiteNames())
	}
	return suite{}, command.Usagef("unknown suite -what %s: it is one of %s", name, suiteNames())
}

// bench is what the rows of one call share.
type bench struct {
	options
	ctx    context.Context
	log    io.Writer
	folder string // temporary: the peers' programs and what they read
	corpus *preparedText
	loads  func() (loads, error) // measured once, for all rows that show them
}

func newBench(ctx context.Context, o options, log io.Writer) (*bench, error) {
	folder, err := os.MkdirTemp("", "aperture-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, ctx: ctx, log: log, folder: folder}
	b.loads = sync.OnceValues(b.measureLoads)
	if err := os.CopyFS(folder, peerFiles); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() { os.RemoveAll(b.folder) }

// measureAll measures the rows one after the other. A row that fails does not stop the next one; only a signal does.
func (b *bench) measureAll() (results []result, err error) {
	var failed []string
	said := map[string]bool{}
	for _, r := range b.rows() {
		fmt.Fprintf(b.log, "measuring %s\n", r.name)
		measured, err := b.measure(r)
		if b.ctx.Err() != nil {
			return results, b.stopped()
		}
		if err != nil {
			failed = append(failed, r.name)
			if text := command.Message(err); !said[text] { // what several rows lack is said once
				said[text] = true
				fmt.Fprintln(b.log, text)
			}
			continue
		}
		results = append(results, measured)
		if ratio := measured.TimeRatio; ratio != nil {
			fmt.Fprintf(b.log, "%s: %.2f times as fast, between %.2f and %.2f\n", r.name, ratio.Median, ratio.Min,
				ratio.Max)
		} else {
			fmt.Fprintf(b.log, "%s: %.4g %s\n", r.name, measured.Ours, r.unit)
		}
	}
	if failed != nil {
		return results, fmt.Errorf("%d of %d rows were not measured: %s", len(failed), len(b.rows()),
			strings.Join(failed, ", "))
	}
	return results, nil
}

// stopped is the signal that ended the context.
func (b *bench) stopped() error {
	return command.StoppedSay(context.Cause(b.ctx), "the rows above are whole")
}

func (b *bench) measure(r row) (out result, err error) {
	race := &race{pieces: 1, products: torch.Float32, device: b.device}
	machine, err := atWork(b.device, func() error {
		return torch.Try(func() error {
			defer race.close()
			if err := r.prepare(b, race); err != nil {
				return err
			}
			out, err = race.run(b.ctx, b.Pairs)
			return err
		})
	})
	if err == nil && b.suite.products {
		machine.Peak = defined(peak(b.device, race.products))
	}
	out.Name, out.Unit, out.Machine = r.name, r.unit, machine
	return out, err
}

// path is that of a file that a peer reads.
func (b *bench) path(name string) string { return filepath.Join(b.folder, name) }
