package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder has one holder at a time; package experiment tests that the end of a process frees it too.
func TestLock(t *testing.T) {
	folder := t.TempDir()
	first, err := Lock(folder)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Lock(folder)
	if err == nil || second != nil ||
		err.Error() != folder+" is in use by another process: wait for it to end, or name another folder with -out" {
		t.Errorf("the second lock gave %v, %v", second, err)
	}
	if other, err := Lock(t.TempDir()); err != nil {
		t.Errorf("another folder: %v", err)
	} else {
		other.Close()
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(folder)
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	again.Close()
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
		t.Errorf("a lock leaves %v, %v", entries, err)
	}
	if _, err := Lock(filepath.Join(folder, "none")); !errors.Is(err, fs.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), "the folder cannot be locked: ") {
		t.Errorf("a missing folder gave %v", err)
	}
}
