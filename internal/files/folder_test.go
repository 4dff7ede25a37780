package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder is there whole or not at all, and what exists is left alone.
func TestWriteFolder(t *testing.T) {
	place := t.TempDir()
	path := filepath.Join(place, "out")
	broken := errors.New("broken")
	fill := func(failed error) func(string) error {
		return func(folder string) error {
			if err := os.WriteFile(filepath.Join(folder, "a"), []byte("one"), 0o666); err != nil {
				return err
			}
			return failed
		}
	}
	left := func() int {
		entries, err := os.ReadDir(place)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if err := WriteFolder(path, fill(broken)); !errors.Is(err, broken) || left() != 0 {
		t.Errorf("a failure gives %v and leaves %d files", err, left())
	}
	if err := WriteFolder(path+"/", fill(nil)); err != nil || left() != 1 {
		t.Fatalf("%v; %d files", err, left())
	}
	if text, err := os.ReadFile(filepath.Join(path, "a")); err != nil || string(text) != "one" {
		t.Errorf("it holds %q, %v", text, err)
	}
	err := WriteFolder(path, func(string) error { t.Error("it is written again"); return nil })
	if err == nil || !strings.Contains(err.Error(), path+" exists already: name another path, or remove it") ||
		left() != 1 {
		t.Errorf("a second time: %v", err)
	}
	if err := WriteFolder(filepath.Join(place, "none", "x"), fill(nil)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder above: %v", err)
	}
}

// TestMakeFolder: folders above it are made too, one that is there stays, and a file in the way is an error.
func TestMakeFolder(t *testing.T) {
	place := t.TempDir()
	path := filepath.Join(place, "a", "b", "c")
	for range 2 {
		if err := MakeFolder(path + "/"); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			t.Fatalf("%v, %v", info, err)
		}
	}
	file := filepath.Join(path, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{file, filepath.Join(file, "below")} {
		if err := MakeFolder(in); err == nil ||
			!strings.HasPrefix(err.Error(), file+" is a file, where a folder is wanted: ") {
			t.Errorf("%s: %v", in, err)
		}
	}
	t.Chdir(place)
	if err := MakeFolder("d/e"); err != nil {
		t.Fatal(err)
	}
}
