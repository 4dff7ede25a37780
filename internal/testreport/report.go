package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
)

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of what a build event is about
	Test        string
	Output      string
	FailedBuild string
}

type testKey struct{ pkg, test string }

type report struct {
	out                     io.Writer
	passed, failed, skipped int
	output                  map[testKey][]string // of tests that have not ended, and of packages
	parents                 map[testKey]bool     // tests with subtests, which are counted instead of them
	failedIn                map[string]bool      // packages with a failed test
	reasons                 map[string][]string  // why tests were skipped, and which
}

func newReport(out io.Writer) *report {
	return &report{
		out:      out,
		output:   map[testKey][]string{},
		parents:  map[testKey]bool{},
		failedIn: map[string]bool{},
		reasons:  map[string][]string{},
	}
}

// read takes the whole stream. Lines that are not JSON, such as a compiler's, are passed on.
func (r *report) read(in io.Reader) error {
	reader := bufio.NewReader(in)
	for {
		line, err := reader.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				r.add(e)
			} else {
				io.WriteString(r.out, line)
			}
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
	case "build-output":
		io.WriteString(r.out, e.Output)
	case "run":
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
			r.parents[testKey{e.Package, e.Test[:i]}] = true
		}
	case "output":
		r.output[key] = append(r.output[key], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(key, e.Action)
		}
		delete(r.output, key)
	}
}

func (r *report) endTest(key testKey, action string) {
	counts := !r.parents[key]
	switch action {
	case "pass":
		if counts {
			r.passed++
		}
	case "fail":
		r.failedIn[key.pkg] = true
		// A parent is passed on too, since what it printed itself may hold the reason.
		r.print(key)
		if counts {
			r.failed++
		}
	case "skip":
		if counts {
			r.skipped++
		}
		why := reason(r.output[key])
		r.reasons[why] = append(r.reasons[why], key.test)
	}
}

// print passes on what a test or package printed, without the lines that only say that tests ran.
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
				r.failed++
				r.failedIn[e.Package] = true
				r.print(key)
			}
		}
		if !r.failedIn[e.Package] {
			r.failed++ // it did not compile, or its TestMain failed
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
	for i := len(output) - 1; i >= 0; i-- {
		line := strings.TrimSpace(output[i])
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

// finish prints the skips and, last and alone on its line, the counts. It reports whether nothing failed.
func (r *report) finish() bool {
	var reasons []string
	for why := range r.reasons {
		reasons = append(reasons, why)
	}
	sort.Strings(reasons)
	for _, why := range reasons {
		tests := r.reasons[why]
		const shown = 5
		list := strings.Join(tests[:min(len(tests), shown)], ", ")
		if len(tests) > shown {
			list += ", ..."
		}
		fmt.Fprintf(r.out, "skipped %d: %s (%s)\n", len(tests), why, list)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	return r.failed == 0 && len(r.failedIn) == 0
}
