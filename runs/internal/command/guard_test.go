package command

import (
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
		t.Errorf("a panic gives %q", got)
	}
	var none []int
	err = Guard(func() error { return fmt.Errorf("%d", none[len(none)]) })
	var internal *InternalError
	if !errors.As(err, &internal) || !strings.Contains(string(internal.Stack), "guard_test.go") {
		t.Fatalf("no stack in %v", err)
	}
	if want := "aperture: internal error: runtime error: index out of range [0] with length 0: this is a defect of " +
		"Aperture, please report it"; Message(err) != want {
		t.Errorf("a defect gives %q", Message(err))
	}
}

// handed is a panic of another goroutine that an error hands on.
type handed struct{}

func (handed) Error() string      { return "elsewhere" }
func (handed) PanicStack() []byte { return []byte("its stack") }

func TestGuardOfAnotherGoroutine(t *testing.T) {
	err := Guard(func() error { return fmt.Errorf("around: %w", handed{}) })
	var internal *InternalError
	if !errors.As(err, &internal) || string(internal.Stack) != "its stack" {
		t.Errorf("a panic that is handed on became %#v", err)
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
	if readErr != nil || !strings.Contains(string(text), "guard_test.go") ||
		!strings.Contains(Message(err), "please report it (details in "+internal.Kept+")") {
		t.Errorf("%s gives %q, %v", internal.Kept, Message(err), readErr)
	}

	if files, _ := filepath.Glob(filepath.Join(os.TempDir(), "aperture-*")); len(files) != 1 {
		t.Errorf("files in the temporary folder: %q", files)
	}
}
