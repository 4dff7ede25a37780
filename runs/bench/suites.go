package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/aperture-ml/aperture/torch"
)

// suite is a group of rows that -what names.
type suite struct {
	name     string
	rows     []row
	products bool // whether its rows are matrix products in the main, so that the machine's peak bounds them
}

// row is a line of the table: a piece of work for us and a peer.
type row struct {
	name    string
	unit    string // of the figures ours and peer
	prepare func(b *bench) (*race, error)
}

// suites is the table of all that can be measured.
func suites() []suite {
	return []suite{
		{"text", textRows, false},
		{"translation", translationRows, true},
		{"objectives", objectiveRows, true},
		{"lm", lmRows, true},
		{"layers", layerRows, true},
		{"load", loadRows, false},
		{"scale", scaleRows, true},
	}
}

func suiteNames() string {
	var names []string
	for _, s := range suites() {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

func findSuite(name string) (suite, error) {
	for _, s := range suites() {
		if s.name == name {
			return s, nil
		}
	}
	if name == "" {
		return suite{}, usagef("say with -what which suite to measure: %s", suiteNames())
	}
	return suite{}, usagef("unknown suite -what %s: it is one of %s", name, suiteNames())
}

func (s suite) rowNames() string {
	var names []string
	for _, r := range s.rows {
		names = append(names, r.name)
	}
	return strings.Join(names, ", ")
}

// bench is what the rows of one call share.
type bench struct {
	options
	ctx    context.Context
	log    io.Writer
	folder string // temporary: the peers' programs and what they read
	text   *multi30k
	loads  *loads
}

func newBench(ctx context.Context, o options, log io.Writer) (*bench, error) {
	folder, err := os.MkdirTemp("", "aperture-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, ctx: ctx, log: log, folder: folder}
	if err := unpackPeers(folder); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() { os.RemoveAll(b.folder) }

// measureAll measures the rows one after the other. A row that fails does not
// stop the next one; only a signal does.
func (b *bench) measureAll() ([]result, error) {
	var results []result
	var failures []error
	told := map[string]bool{}
	for _, r := range b.rows() {
		fmt.Fprintf(b.log, "measuring %s\n", r.name)
		measured, err := b.measure(r)
		if b.ctx.Err() != nil {
			return results, context.Cause(b.ctx)
		}
		if err == nil {
			results = append(results, measured)
			if ratio := measured.TimeRatio; ratio != nil {
				fmt.Fprintf(b.log, "%s: %.2f times as fast, between %.2f and %.2f\n", r.name, ratio.Median, ratio.Min, ratio.Max)
			} else {
				fmt.Fprintf(b.log, "%s: %.4g %s\n", r.name, measured.Ours, r.unit)
			}
		} else if !told[err.Error()] { // what several rows lack is said once
			told[err.Error()] = true
			failures = append(failures, err)
		}
	}
	return results, errors.Join(failures...)
}

func (b *bench) measure(r row) (out result, err error) {
	machine, err := atWork(func() error {
		return torch.Try(func() error {
			race, err := r.prepare(b)
			if err != nil {
				return err
			}
			defer race.close()
			out, err = race.run(b.ctx, b.Pairs)
			return err
		})
	})
	if err == nil && b.suite.products {
		machine.Peak = defined(peak())
	}
	out.Name, out.Unit, out.Machine = r.name, r.unit, machine
	return out, err
}
