package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestProgramOfFailedStart: a program that a start left behind is kept where a sweep has begun with it, and else built
// anew, as a method may have been added to the source since.
func TestProgramOfFailedStart(t *testing.T) {
	folder := t.TempDir()
	kept, held := filepath.Join(folder, "bin", "prepare"), filepath.Join(folder, searchFile)
	if err := os.Mkdir(filepath.Dir(kept), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{kept, held} {
		if err := os.WriteFile(path, nil, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, begun := range []bool{true, false} {
		if !begun {
			if err := os.Remove(held); err != nil {
				t.Fatal(err)
			}
		}
		path, err := findProgram("prepare", folder, io.Discard)
		if err != nil || path != kept {
			t.Fatal(path, err)
		}
		if info, err := os.Stat(kept); err != nil || info.Size() == 0 != begun {
			t.Errorf("begun %v: %v, %v", begun, info, err)
		}
	}
}
