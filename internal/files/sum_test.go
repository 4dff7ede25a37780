package files

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestSum(t *testing.T) {
	if _, err := Sum(filepath.Join(t.TempDir(), "none"))(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the hash of no file: %v", err)
	}
	if sum, err := Sum(os.DevNull)(); sum != "" || err != nil {
		t.Errorf("what can be read once has the hash %q (%v)", sum, err)
	}
	path, text := filepath.Join(t.TempDir(), "x"), []byte("north 0.1 1\neast 1 0.3\n")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if sum, err := Sum(path)(); err != nil || sum != fmt.Sprintf("%x", sha256.Sum256(text)) {
		t.Errorf("the hash is %q (%v)", sum, err)
	}
}
