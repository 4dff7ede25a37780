package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

// The folder in which a re-executed test binary imports instead of testing.
const faultsTo = "IMPORT_TEST_TO"

func TestMain(m *testing.M) {
	to := os.Getenv(faultsTo)
	if to == "" {
		os.Exit(m.Run())
	}
	command.Exit(torch.Main(func() error {
		// libtorch reads /sys for its first tensor, and ends the process where it cannot.
		torch.ScopedNoGrad(func() { torch.Full(1, torch.Float32, torch.CPU, 8) })
		fixtures.BeginFaults()
		return run(&flags{From: "testdata/marian.zip", To: to, Source: "en", Target: "de"}, io.Discard)
	}))
}

// TestFaults lets every call by which a model is read and a run folder is made fail once: the folder is there whole or
// not at all, and a second command makes it.
func TestFaults(t *testing.T) {
	if os.Getenv("APERTURE_TEST_EVERYTHING") != "1" {
		t.Skip("APERTURE_TEST_EVERYTHING=1 imports a model some hundred times")
	}
	good := t.TempDir()
	again := func(folder string) error {
		_, err := imported(t, "-from=testdata/marian.zip", "-src=en", "-tgt=de", "-to", filepath.Join(folder, "run"))
		return err
	}
	if err := again(good); err != nil {
		t.Fatal(err)
	}
	want := fixtures.Contents(t, good)
	n := fixtures.Faults(t, func(folder string) (*exec.Cmd, func(fixtures.Fault, string, error)) {
		to := filepath.Join(folder, "run")
		program := exec.Command(os.Args[0])
		program.Env = append(os.Environ(), faultsTo+"="+to, "TMPDIR="+folder)
		return program, func(f fixtures.Fault, output string, err error) {
			fixtures.Whole(t, f, folder, want, output, err)
			if _, missing := os.Stat(to); missing == nil {
				return
			}
			if err := again(folder); err != nil {
				t.Fatalf("%v: a second time: %v", f, err)
			}
		}
	})
	t.Logf("%d faults", n)
	if n < 30 {
		t.Errorf("only %d faults were tried", n)
	}
}
