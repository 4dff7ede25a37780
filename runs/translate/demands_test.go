package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNoTerms: a file of terms may have none.
func TestNoTerms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "terms.tsv")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if g, err := readTerms(t.Context(), nil, path); g != nil || err != nil {
		t.Errorf("%v, %v", g, err)
	}
}
