package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// A panic is kept in the log of its run.
func TestLogKeepsStack(t *testing.T) {
	r := mustStart(t, t.TempDir())
	var screen bytes.Buffer
	r.Log.screen = &screen
	err := fmt.Errorf("around: %w", command.Guard(func() error { panic("lost again") }))
	r.Log.Fail(err)
	text, readErr := os.ReadFile(r.Path(LogFile))
	if readErr != nil || !strings.Contains(string(text), "lost again") ||
		!strings.Contains(string(text), "folder_test.go") {
		t.Errorf("the log lacks the stack: %s, %v", text, readErr)
	}
	if screen.Len() > 0 || !strings.HasSuffix(command.Message(err), "(details in "+r.Path(LogFile)+")") {
		t.Errorf("the screen got %q, and the sentence is %q", &screen, command.Message(err))
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
	if log, err := os.ReadFile(r.Path(LogFile)); err != nil ||
		!strings.Contains(string(log), "starting it from the beginning") || r.Config.Train.Seed != 3 {
		t.Errorf("seed %d, log %s, %v", r.Config.Train.Seed, log, err)
	}

	// A finished run that could not be made longer is finished.
	r.Close()
	r = mustStart(t, folder, "-resume", "-steps=5", "-seed=3")
	if err := r.WriteResults(&record.Results{Updates: 5}); err != nil {
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

	// So is one whose log cannot be written.
	log := r.Path(LogFile)
	if err := errors.Join(os.Remove(log), os.Mkdir(log, 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err = start(t, folder, "-resume", "-steps=6"); err == nil {
		t.Fatal("a run begins without a log")
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
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
