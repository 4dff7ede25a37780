package translation

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// words is a vocabulary of these words, each rarer than the one before.
func words(counted ...string) *tokenize.Vocabulary {
	counts := map[string]int{}
	for i, word := range counted {
		counts[word] = 100 - i
	}
	return tokenize.NewVocabulary(counts, tokenize.VocabularyOptions{PaddingFactor: 1})
}

// TestStoredVectors: rows come back bit for bit, with what was known of them.
func TestStoredVectors(t *testing.T) {
	torch.Test(t, func() {
		v := words("north", "east", "northeast")
		given := filepath.Join(t.TempDir(), "x.vec")
		if err := os.WriteFile(given, []byte("north 0.1 1\neast 1 0.3\nwest -1 0\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		table, err := vectors.Open(given, v)
		if err != nil {
			t.Fatal(err)
		}
		if table.Source != "x.vec" {
			t.Errorf("the table is of %q", table.Source)
		}
		table.SHA256 = "abc"
		path := filepath.Join(t.TempDir(), "vectors.safetensors")
		if err := saveVectors(table, path); err != nil {
			t.Fatal(err)
		}
		got, err := loadVectors(path, v)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, table) || got.Hash() != table.Hash() {
			t.Errorf("%+v came back as %+v", table, got)
		}
		got.Rows[len(got.Rows)-1]++
		if got.Hash() == table.Hash() {
			t.Error("another row has the same hash")
		}
		if _, err := loadVectors(path, words("north")); err == nil ||
			!strings.Contains(err.Error(), "does not fit a vocabulary of") {
			t.Errorf("another vocabulary: the error is %v", err)
		}
		other := filepath.Join(t.TempDir(), "other.safetensors")
		var b bytes.Buffer
		if err := torch.WriteSafetensors(&b, map[string]torch.Tensor{"x": torch.Zeros(torch.Float32, torch.CPU, 7, 2)},
			nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(other, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		empty := filepath.Join(t.TempDir(), "empty.safetensors")
		b.Reset()
		if err := torch.WriteSafetensors(&b, map[string]torch.Tensor{
			storedTensor: torch.Zeros(torch.Float32, torch.CPU, int64(v.Len()), 0),
			"x":          torch.Zeros(torch.Float32, torch.CPU, int64(v.Len()), 2),
		}, map[string]string{storedAbout: "{}"}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(empty, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{empty: "does not fit a vocabulary of",
			other: "holds no target vectors", filepath.Join(t.TempDir(), "none"): "none"} {
			if _, err := loadVectors(path, v); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one with %q", err, want)
			}
		}
	})
}
