package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aperture-ml/aperture/tokenize/score"
)

// TestReadModel: what was kept is read again, and measured anew where losses by frequency are of other classes.
func TestReadModel(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, File), []byte(`{"run":"ptb"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	classes := len(score.FrequencyBuckets())
	for count, kept := range map[int]bool{0: false, classes - 1: false, classes: true, classes + 1: false} {
		m := Model{Buckets: map[string][]Block{"test": make([]Block, count)}, Picture: &Picture{}}
		if err := m.Save(folder); err != nil {
			t.Fatal(err)
		}
		if read, err := ReadModel(folder); err != nil || kept != (read != nil) {
			t.Errorf("with %d classes: %v, %v", count, read, err)
		}
	}
}
