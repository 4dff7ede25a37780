package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

// The run that a re-executed test binary exports instead of testing, and the folder to write to.
const faultsFrom, faultsTo = "EXPORT_TEST_FROM", "EXPORT_TEST_TO"

// exports are what is written of a run, by name.
var exports = map[string]string{"model.argosmodel": "argos", "hf": "hf"}

func TestMain(m *testing.M) {
	from := os.Getenv(faultsFrom)
	if from == "" {
		os.Exit(m.Run())
	}
	command.Exit(torch.Main(func() error {
		// libtorch reads /sys for its first tensor, and ends the process where it cannot.
		torch.ScopedNoGrad(func() { torch.Full(1, torch.Float32, torch.CPU, 8) })
		fixtures.BeginFaults()
		return exportAll(from, os.Getenv(faultsTo))
	}))
}

// exportAll writes those exports that are not there yet.
func exportAll(from, to string) error {
	for name, format := range exports {
		out := filepath.Join(to, name)
		if _, err := os.Stat(out); err == nil {
			continue
		}
		f := &flags{Run: from, To: format, Out: out, Tokens: format == "hf"}
		if err := run(context.Background(), f, io.Discard); err != nil {
			return err
		}
	}
	return nil
}

// TestFaults lets every call by which a run is read and exported fail once: an export is there whole or not at all, and
// a second command makes it.
func TestFaults(t *testing.T) {
	if os.Getenv("APERTURE_TEST_EVERYTHING") != "1" {
		t.Skip("APERTURE_TEST_EVERYTHING=1 exports a run some hundred times")
	}
	from := trained(t, "multi30k", "train.steps=5")
	good := t.TempDir()
	if err := exportAll(from, good); err != nil {
		t.Fatal(err)
	}
	want := fixtures.Contents(t, good)
	n := fixtures.Faults(t, func(folder string) (*exec.Cmd, func(fixtures.Fault, string, error)) {
		program := exec.Command(os.Args[0])
		program.Env = append(os.Environ(), faultsFrom+"="+from, faultsTo+"="+folder, "TMPDIR="+folder)
		return program, func(f fixtures.Fault, output string, err error) {
			fixtures.Whole(t, f, folder, want, output, err)
			if err := exportAll(from, folder); err != nil {
				t.Fatalf("%v: a second time: %v", f, err)
			}
		}
	})
	t.Logf("%d faults", n)
	if n < 30 {
		t.Errorf("only %d faults were tried", n)
	}
}
