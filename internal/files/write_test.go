package files

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWrite(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	for _, text := range []string{"one", "two"} {
		if err := Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("read %q, %v", got, err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	// Errors know nothing of temporary names.
	for name, want := range map[string]string{"none/f": "open none/f: no such file or directory",
		"taken": "taken is a folder, where a file is wanted: name another path, or remove the folder",
		"f/g":   "open f/g: not a directory"} {
		err := Write(filepath.Join(folder, filepath.FromSlash(name)), nil)
		if err == nil || strings.ReplaceAll(err.Error(), folder+"/", "") != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 {
		t.Errorf("files were left behind: %v, %v", entries, err)
	}
}

// What is written piece by piece gets its name at Commit, and leaves nothing without it.
func TestCreate(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	for _, commit := range []bool{false, true, false} {
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range []string{"one ", "two"} {
			if _, err := w.Write([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := filepath.Match(TempPattern(path), entries[0].Name()); !ok || err != nil {
			t.Errorf("%s is not of the pattern %s", entries[0].Name(), TempPattern(path))
		}
		if commit {
			if err := w.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		w.Discard()
	}
	entries, err := os.ReadDir(folder)
	if got, readErr := os.ReadFile(path); err != nil || len(entries) != 1 || string(got) != "one two" ||
		readErr != nil {
		t.Errorf("%q, %v, %v, %v", got, readErr, entries, err)
	}
	if _, err := Create(filepath.Join(folder, "none", "f")); err == nil {
		t.Error("a file was begun in a missing folder")
	}
}

// A new file has the mode that the umask asks for, and one that is replaced keeps its own.
func TestWriteFollowsTheUmask(t *testing.T) {
	for umask, want := range map[int]fs.FileMode{0o022: 0o644, 0o077: 0o600, 0o002: 0o664} {
		before := syscall.Umask(umask)
		path := filepath.Join(t.TempDir(), "new")
		is := func(want fs.FileMode) {
			t.Helper()
			if err := Write(path, []byte("text")); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("umask %03o gave %v, want %v (%v)", umask, info.Mode(), want, err)
			}
		}
		is(want)
		is(want)
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		is(0o640)
		syscall.Umask(before)
	}
}

// TestWriteToPipe: what is no file gets the text, and stays what it is.
func TestWriteToPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		text, _ := os.ReadFile(path)
		got <- string(text)
	}()
	if err := Write(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Fatalf("the pipe is %v, %v", info.Mode(), err)
	}
	if text := <-got; text != "one" {
		t.Errorf("the pipe's reader got %q", text)
	}
}

// TestWriteToStdout: /dev/stdout is a link that leads to a file where the shell has directed it into one. That file gets
// the text, between what is printed before and after, and the link stays.
func TestWriteToStdout(t *testing.T) {
	if link := os.Getenv("APERTURE_TEST_STDOUT"); link != "" {
		os.Stdout.WriteString("before ")
		if err := Write(link, []byte("text ")); err != nil {
			os.Stdout.WriteString(err.Error())
		}
		os.Stdout.WriteString("after")
		os.Exit(0)
	}
	folder := t.TempDir()
	link, path := filepath.Join(folder, "stdout"), filepath.Join(folder, "f")
	if err := os.Symlink("/proc/self/fd/1", link); err != nil { // as /dev/stdout is
		t.Fatal(err)
	}
	for _, link := range []string{link, "/proc/self/fd/1"} {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		program := exec.Command(os.Args[0], "-test.run=^TestWriteToStdout$")
		program.Env, program.Stdout = append(os.Environ(), "APERTURE_TEST_STDOUT="+link), file
		if err := program.Run(); err != nil {
			t.Fatal(err)
		}
		file.Close()
		if text, err := os.ReadFile(path); err != nil || string(text) != "before text after" {
			t.Errorf("%s: the file holds %q, %v", link, text, err)
		}
	}
	if to, err := os.Readlink(link); err != nil {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}
