package exchange

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStatedSizes: an archive that states more bytes than it can hold is refused before memory is taken for them.
func TestStatedSizes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.CreateRaw(&zip.FileHeader{Name: "model.safetensors", UncompressedSize64: 1 << 50, CompressedSize64: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte{0})
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	const want = "states that its model.safetensors has 1125899906842624 bytes, which an archive of"
	if _, err := Read(path, anyText); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}
