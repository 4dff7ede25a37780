package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	if err := Guard(func() error { return nil }); err != nil {
		t.Error(err)
	}
	plain := errors.New("plain")
	if err := Guard(func() error { return plain }); err != plain {
		t.Errorf("an error became %v", err)
	}
	cause := fmt.Errorf("matrix of\n%w", plain)
	err := Guard(func() error { panic(cause) })
	if !errors.Is(err, plain) || ExitCode(err) != 1 {
		t.Errorf("a panic became %v with exit code %d", err, ExitCode(err))
	}
	if got := Message(err); got != "aperture: matrix of plain" {
		t.Errorf("a panic is told as %q", got)
	}
	var none []int
	err = Guard(func() error { return fmt.Errorf("%d", none[len(none)]) })
	var internal *InternalError
	if !errors.As(err, &internal) || !strings.Contains(string(internal.Stack), "internal_test.go") {
		t.Fatalf("no stack in %v", err)
	}
	if want := "aperture: internal error: runtime error: index out of range [0] with length 0: this is a defect of Aperture, please report it"; Message(err) != want {
		t.Errorf("a defect is told as %q", Message(err))
	}
}

// The stack of a panic is kept once: in the run's log, or else in a file of its own.
func TestStackIsKept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	err := Guard(func() error { panic("lost") })
	keepStack(err)
	var internal *InternalError
	if !errors.As(err, &internal) {
		t.Fatal(err)
	}
	text, readErr := os.ReadFile(internal.Kept)
	if readErr != nil || !strings.Contains(string(text), "internal_test.go") || !strings.Contains(Message(err), "please report it (details in "+internal.Kept+")") {
		t.Errorf("%s is told as %q, %v", internal.Kept, Message(err), readErr)
	}

	r := mustStart(t, t.TempDir())
	var screen bytes.Buffer
	r.Log.screen = &screen
	err = fmt.Errorf("around: %w", Guard(func() error { panic("lost again") }))
	r.Log.Fail(err)
	keepStack(err)
	text, readErr = os.ReadFile(r.Path(LogFile))
	if readErr != nil || !strings.Contains(string(text), "lost again") || !strings.Contains(string(text), "internal_test.go") {
		t.Errorf("the log lacks the stack: %s, %v", text, readErr)
	}
	if screen.Len() > 0 || !strings.HasSuffix(Message(err), "(details in "+r.Path(LogFile)+")") {
		t.Errorf("the screen got %q, and the sentence is %q", &screen, Message(err))
	}
	if files, _ := filepath.Glob(filepath.Join(os.TempDir(), "aperture-*")); len(files) != 1 {
		t.Errorf("files in the temporary folder: %q", files)
	}
}

// A run that came to nothing does not keep its folder, and one that was killed before it began begins with -resume too.
func TestFolderOfARunThatNeverBegan(t *testing.T) {
	folder := t.TempDir()
	r := mustStart(t, folder, "-seed=1")
	if err := os.Mkdir(r.Path(CheckpointsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	r.Abandon()
	r.Close()
	mustStart(t, folder, "-seed=2").Close()
	if err := os.Remove(r.Path(ConfigFile)); err != nil {
		t.Fatal(err)
	}
	r = mustStart(t, folder, "-seed=3", "-resume")
	if log, err := os.ReadFile(r.Path(LogFile)); err != nil || !strings.Contains(string(log), "starting it from the beginning") || r.Config.Train.Seed != 3 {
		t.Errorf("seed %d, log %s, %v", r.Config.Train.Seed, log, err)
	}

	// A finished run that could not be made longer is finished.
	r.Close()
	r = mustStart(t, folder, "-resume", "-steps=5", "-seed=3")
	if err := r.WriteResults(&Results{Updates: 5}); err != nil {
		t.Fatal(err)
	}
	r.Close()
	before, err := os.ReadFile(r.Path(ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	r = mustStart(t, folder, "-resume", "-steps=6")
	r.Abandon()
	r.Close()
	after, err := os.ReadFile(r.Path(ConfigFile))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the configuration is now %s, %v", after, err)
	}
	_, err = start(t, folder, "-resume")
	wantError(t, err, "is finished (5 updates")

	// Checkpoints are never taken for nothing.
	folder = t.TempDir()
	r = mustStart(t, folder)
	if err := os.MkdirAll(r.Path(CheckpointsDir, "step-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.Abandon()
	r.Close()
	_, err = start(t, folder, "-seed=4")
	wantError(t, err, "already holds a run")
}
