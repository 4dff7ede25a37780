package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// TestOutliveReaders: a process whose log nobody reads goes on, where it said so.
func TestOutliveReaders(t *testing.T) {
	const role, exit = "APERTURE_TEST_OUTLIVES", 7
	if said := os.Getenv(role); said != "" {
		if said == "yes" {
			OutliveReaders()
		}
		for range 3 {
			fmt.Fprintln(os.Stderr, "a line")
		}
		os.Exit(exit)
	}
	for said, want := range map[string]int{"yes": exit, "no": -1} { // -1 is a signal
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		reader.Close()
		program := exec.Command(os.Args[0], "-test.run=^TestOutliveReaders$")
		program.Env, program.Stderr = append(os.Environ(), role+"="+said), writer
		var ended *exec.ExitError
		if err := program.Run(); !errors.As(err, &ended) || ended.ExitCode() != want {
			t.Errorf("OutliveReaders %s: %v, want the exit code %d", said, err, want)
		}
		writer.Close()
	}
}
