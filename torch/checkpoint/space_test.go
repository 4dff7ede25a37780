package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// checkUntouched proves that a failed save left the store as it was after step 1.
func checkUntouched(t *testing.T, s Store) {
	t.Helper()
	if found := names(t, s.Dir); strings.Join(found, " ") != "LATEST step-1" {
		t.Errorf("the failed save left %v", found)
	}
	latest, warnings, err := s.Latest()
	if err != nil || len(warnings) > 0 || latest.Step != 1 {
		t.Errorf("the latest is %v, %v, %v", latest, warnings, err)
	}
}

// checkSentence proves that an error is one line that says what happened, to what, and what is left.
func checkSentence(t *testing.T, text string, parts ...string) {
	t.Helper()
	if strings.Contains(strings.TrimSpace(text), "\n") {
		t.Errorf("the error has several lines: %s", text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the error %q does not say %q", text, part)
		}
	}
}

func TestWriterThatFails(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	save(t, s, 1, "a")
	err := s.Save(2, []File{content("state.json", "{}"), {Name: "model.safetensors", Write: func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 3<<20)); err != nil {
			return err
		}
		return fmt.Errorf("write model: %w", syscall.ENOSPC)
	}}}, nil)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the cause is lost: %v", err)
	}
	checkSentence(t, err.Error(), "step-2 could not be saved",
		"the disk is full (free some space) after 3.1 MB of model.safetensors", "step-1 is still there")
	checkUntouched(t, s)

	other := errors.New("the tensor decoder.embed.weight is gone")
	err = s.Save(2, []File{{Name: "model.safetensors", Write: func(io.Writer) error { return other }}}, nil)
	if !errors.Is(err, other) {
		t.Errorf("the cause is lost: %v", err)
	}
	checkSentence(t, err.Error(), "the tensor decoder.embed.weight is gone")
	checkUntouched(t, s)
}

// A disk that is really full: its errors come from the write, the sync or the close, as the system likes.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system cannot be mounted here (%v): run as root to test a full disk", err)
	}
	defer syscall.Unmount(dir, 0)
	s := Store{Dir: dir}
	save(t, s, 1, "a")
	large := content("model.safetensors", strings.Repeat("x", 100_000))
	err := s.Save(2, []File{content("state.json", "{}"), large}, nil)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the cause is lost: %v", err)
	}
	checkSentence(t, err.Error(), "step-2 could not be saved", "the disk is full", "model.safetensors",
		"step-1 is still there")
	checkUntouched(t, s)
	save(t, s, 2, "fits") // the failed save gave its space back
}

// A limit on the size of files, as some clusters set it, comes with a signal besides the error.
func TestFileSizeLimit(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	save(t, s, 1, "a")
	command := child("save", s.Dir)
	command.Path, command.Args = "/bin/sh", []string{"sh", "-c", `ulimit -f 40; exec "$0"`, os.Args[0]}
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("the process ended with %v: %s", err, output)
	}
	checkSentence(t, string(output), "step-2 could not be saved", "larger than this process may write (see ulimit -f)",
		"model.safetensors", "step-1 is still there")
	checkUntouched(t, s)
}

func TestFolderThatCannotBeMade(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := Store{Dir: file + "/checkpoints"}
	for _, err := range []error{s.Save(1, state("a"), nil), s.Recover()} {
		if err == nil {
			t.Fatal("a folder was made inside a file")
		}
		checkSentence(t, err.Error(), "cannot be made", file+" is a file, where a folder is wanted")
	}
}
