// Command testreport makes the output of `go test -json` readable: it passes on the line of each package and all that
// failing tests printed, lists what was skipped and why, says what took the time, and ends with one line of counts. Its
// exit code is 1 where anything failed.
//
// Phases of the work are events of its own, {"Action":"phase","Output":NAME} as one begins and
// {"Action":"phase-end","Output":NAME,"Elapsed":SECONDS,"CPU":SECONDS} as it ends. What runs outside a phase counts for
// none.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	r := newReport(os.Stdout)
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "testreport: the output of go test cannot be read: %v\n", err)
		os.Exit(1)
	}
	if !r.finish() {
		os.Exit(1)
	}
}

// event is one line of `go test -json`, see `go doc test2json`, or begins or ends a phase.
type event struct {
	Action, Package, Test, Output string
	Elapsed, CPU                  float64 // seconds
}

type testKey struct{ pkg, test string }

type report struct {
	out      io.Writer
	counts   map[string]int       // of tests, by how they ended
	output   map[testKey][]string // of tests that have not ended, and of packages
	parents  map[testKey]bool     // tests with subtests, which are counted instead of them
	failedIn map[string]bool      // packages with a failed test
	reasons  map[string][]string  // why tests were skipped, and which
	times    times
}

func newReport(out io.Writer) *report {
	return &report{out, map[string]int{}, map[testKey][]string{}, map[testKey]bool{}, map[string]bool{},
		map[string][]string{}, times{}}
}

// read takes the whole stream. Lines that are not JSON, such as a compiler's, are passed on.
func (r *report) read(in io.Reader) error {
	reader := bufio.NewReader(in)
	for {
		line, err := reader.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
			r.add(e)
		} else {
			io.WriteString(r.out, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) add(e event) {
	key := testKey{e.Package, e.Test}
	switch e.Action {
	case "phase", "phase-end":
		r.times.phase(e)
	case "build-output":
		io.WriteString(r.out, e.Output)
	case "run":
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
			r.parents[testKey{e.Package, e.Test[:i]}] = true
		}
	case "output":
		r.output[key] = append(r.output[key], e.Output)
	case "pass", "fail", "skip":
		r.times.add(e)
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(key, e.Action)
		}
		delete(r.output, key)
	}
}

func (r *report) endTest(key testKey, action string) {
	if !r.parents[key] {
		r.counts[action]++
	}
	switch action {
	case "fail": // of a parent too, since what it printed itself may hold the reason
		r.failedIn[key.pkg] = true
		r.print(key)
	case "skip":
		why := reason(r.output[key])
		r.reasons[why] = append(r.reasons[why], key.test)
	}
}

// print passes on what a test printed, without the lines that only say that tests ran.
func (r *report) print(key testKey) {
	for _, line := range r.output[key] {
		if !strings.HasPrefix(line, "=== ") {
			io.WriteString(r.out, line)
		}
	}
}

func (r *report) endPackage(e event) {
	if e.Action == "fail" {
		// Tests that had not ended when the process died hold the reason.
		for key := range r.output {
			if key.pkg == e.Package && key.test != "" {
				r.counts["fail"]++
				r.failedIn[e.Package] = true
				r.print(key)
			}
		}
		if !r.failedIn[e.Package] {
			r.counts["fail"]++ // it did not compile, or its TestMain failed
		}
	}
	for _, line := range r.output[testKey{pkg: e.Package}] {
		// The lone words of go test -v mean little between the lines of packages.
		if line != "PASS\n" && line != "FAIL\n" && !strings.Contains(line, "[no test files]") {
			io.WriteString(r.out, line)
		}
	}
}

// reason finds what a test said when it skipped itself: the last line that is not one of the test runner's.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		// "file_test.go:12: reason": the place differs from test to test, the reason does not.
		if place, text, found := strings.Cut(line, ": "); found && strings.Contains(place, ".go:") {
			return text
		}
		return line
	}
	return "no reason given"
}

// finish prints the skips, what took the time and, last and alone on its line, the counts. It reports whether nothing
// failed.
func (r *report) finish() bool {
	const shown = 5
	for _, why := range slices.Sorted(maps.Keys(r.reasons)) {
		tests, more := r.reasons[why], ""
		n := len(tests)
		if n > shown {
			tests, more = tests[:shown], ", ..."
		}
		fmt.Fprintf(r.out, "skipped %d: %s (%s%s)\n", n, why, strings.Join(tests, ", "), more)
	}
	r.times.print(r.out)
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.counts["pass"], r.counts["fail"], r.counts["skip"])
	return r.counts["fail"] == 0 && len(r.failedIn) == 0
}
