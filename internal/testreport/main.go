// Command testreport makes the output of `go test -json` readable: it passes on
// the line of each package and all that failing tests printed, lists what was
// skipped and why, and ends with one line of counts. Its exit code is 1 where
// anything failed.
package main

import (
	"os"
)

func main() {
	report := newReport(os.Stdout)
	if err := report.read(os.Stdin); err != nil {
		os.Stderr.WriteString("testreport: the output of go test cannot be read: " + err.Error() + "\n")
		os.Exit(1)
	}
	if !report.finish() {
		os.Exit(1)
	}
}
