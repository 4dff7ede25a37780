package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// What does not reach standard output is an error, unless there was a graver one; a reader that wants no more hears
// nothing.
func TestOutput(t *testing.T) {
	other := errors.New("another")
	for _, test := range []struct {
		file    string // "" is a pipe without a reader
		err     func(failed error) error
		code    int
		message string
	}{
		{"/dev/null", func(error) error { return nil }, 0, ""},
		{"/dev/null", func(error) error { return other }, 1, "aperture: another"},
		{"/dev/full", func(error) error { return nil }, 1,
			"aperture: standard output could not be written, so that results are missing there: no space left on " +
				"device"},
		{"/dev/full", func(error) error { return ErrHelp }, 1,
			"aperture: standard output could not be written, so that results are missing there: no space left on " +
				"device"},
		{"/dev/full", func(failed error) error { return fmt.Errorf("around: %w", failed) }, 1,
			"aperture: standard output could not be written, so that results are missing there: no space left on " +
				"device"},
		{"/dev/full", func(error) error { return other }, 1, "aperture: another"},
		{"", func(error) error { return nil }, 128 + int(syscall.SIGPIPE), "aperture: "},
		{"", func(failed error) error { return failed }, 128 + int(syscall.SIGPIPE), "aperture: "},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if test.file != "" {
			w.Close()
			if w, err = os.OpenFile(test.file, os.O_WRONLY, 0); err != nil {
				t.Fatal(err)
			}
		}
		o := &output{to: w}
		_, failed := fmt.Fprintln(o, "a result")
		fmt.Fprintln(o, "another")
		got := o.finish(test.err(failed))
		if ExitCode(got) != test.code || got != nil && Message(got) != test.message {
			t.Errorf("%s: exit code %d, want %d: %v", test.file, ExitCode(got), test.code, got)
		}
	}
	full, err := os.Create(filepath.Join(t.TempDir(), "closed"))
	if err != nil {
		t.Fatal(err)
	}
	full.Close()
	if err := (&output{to: full}).finish(nil); err != nil {
		t.Errorf("an output that was closed before gives %v", err)
	}
}

// Every program writes by way of Stdout and ends by way of Exit: beside them a full disk would go unnoticed.
func TestProgramsWriteToStdout(t *testing.T) {
	beside := regexp.MustCompile(`os\.Stdout|fmt\.Print`)
	programs := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil || strings.HasSuffix(path, "command/output.go") {
			return err
		}
		if found := beside.Find(source); found != nil {
			t.Errorf("%s writes to standard output with %q: use command.Stdout", path, found)
		}
		if filepath.Base(path) == "main.go" && strings.Contains(string(source), "func main()") {
			programs++
			if !strings.Contains(string(source), "command.Exit(") && !strings.Contains(string(source), "train.Main(") {
				t.Errorf("%s does not end with command.Exit", path)
			}
		}
		return nil
	})
	if err != nil || programs < 15 {
		t.Errorf("%d programs, %v", programs, err)
	}
}

// A terminal does not obey what results hold; a file gets it as it is.
func TestTame(t *testing.T) {
	for text, want := range map[string]string{"": "", "ein Hund\n\tä 猫 é": "ein Hund\n\tä 猫 é", "\x1b[2J\a\r\x7f": "?[2J???",
		"a\u009b1m\u00a0b": "a??1m\u00a0b"} {
		if got := string(tame([]byte(text))); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	for terminal, want := range map[bool]string{true: "?[2J", false: "\x1b[2J"} {
		path := filepath.Join(t.TempDir(), "out")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		o := &output{to: file, terminal: terminal}
		fmt.Fprint(o, "\x1b[2J")
		file.Close()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("terminal %v: %q, %v", terminal, got, err)
		}
	}
}
