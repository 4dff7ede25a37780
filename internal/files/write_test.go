package files

import (
	"os"
	"path/filepath"
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
	if err := Write(filepath.Join(folder, "none", "f"), nil); err == nil {
		t.Error("a missing folder was written to")
	}
	if err := os.Mkdir(filepath.Join(folder, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(folder, "taken"), nil); err == nil {
		t.Error("a folder was replaced by a file")
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 {
		t.Errorf("files were left behind: %v, %v", entries, err)
	}
}
