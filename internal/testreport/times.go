package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// times is what took the time.
type times struct {
	current         string   // phase
	phases          []event  // that have ended
	packages, tests []lasted // of all phases
}

type lasted struct {
	seconds float64
	what    string
}

// Shorter ones are not worth a word.
const worthSaying = 1.0

func (t *times) phase(e event) {
	t.current = ""
	if e.Action == "phase" {
		t.current = e.Output
	} else {
		t.phases = append(t.phases, e)
	}
}

// add takes the end of a package or test. Subtests count as part of the test that they belong to.
func (t *times) add(e event) {
	if e.Elapsed < worthSaying || strings.Contains(e.Test, "/") {
		return
	}
	what := e.Package[strings.LastIndexByte(e.Package, '/')+1:]
	if e.Test != "" {
		what += "." + e.Test
	}
	if t.current != "" {
		what += " (" + t.current + ")"
	}
	if e.Test == "" {
		t.packages = append(t.packages, lasted{e.Elapsed, what})
	} else {
		t.tests = append(t.tests, lasted{e.Elapsed, what})
	}
}

func (t *times) print(out io.Writer) {
	const shown = 15
	for _, list := range []struct {
		title string
		all   []lasted
	}{{"slowest packages", t.packages}, {"slowest tests", t.tests}} {
		slices.SortStableFunc(list.all, func(a, b lasted) int { return cmp.Compare(b.seconds, a.seconds) })
		for i, l := range list.all[:min(shown, len(list.all))] {
			if i == 0 {
				fmt.Fprintf(out, "%s, in seconds:\n", list.title)
			}
			fmt.Fprintf(out, "%8.1f  %s\n", l.seconds, l.what)
		}
	}
	if len(t.phases) == 0 {
		return
	}
	all := event{Output: "in all"}
	fmt.Fprintln(out, "phases, in seconds and seconds of CPU:")
	for _, p := range t.phases {
		all.Elapsed, all.CPU = all.Elapsed+p.Elapsed, all.CPU+p.CPU
	}
	for _, p := range append(t.phases, all) {
		fmt.Fprintf(out, "%6.0f %6.0f  %s\n", p.Elapsed, p.CPU, p.Output)
	}
}
