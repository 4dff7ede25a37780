package translation_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize"
)

// TestLearnVectorsOfAFile: vectors from a packed file are those of the target's words, centred where the settings say
// so, with the file's hash; a file of another width makes no text for weights that were trained with the first.
func TestLearnVectorsOfAFile(t *testing.T) {
	english, german := numbers(5, 200, 60)
	s := settings(t, smallConfig, func(s *translation.Settings) {
		s.Text.Joint, s.Text.JointCodes, s.Text.TargetUnits, s.Text.Merges = false, false, "word", 0
		s.Objective.Set("method", "vmf", "vectors_centre", true)
		s.Model.Tying = "none"
	})
	words := map[string]bool{}
	for _, line := range german {
		for _, word := range strings.Fields(line) {
			words[word] = true
		}
	}
	write := func(width int) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		for word := range words {
			fmt.Fprint(w, word)
			for i := range width {
				fmt.Fprint(w, " ", len(word)*(i+2)%7, ".", int(word[0])%(i+3))
			}
			fmt.Fprintln(w)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "words.vec.gz")
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s.Objective.Set("vectors", write(5))
	pair, err := translation.LearnText(s, bitext.InMemory(english, german), nil)
	if err != nil {
		t.Fatal(err)
	}
	if pair.Vectors.Width != 5 {
		t.Errorf("the table is %+v", pair.Vectors)
	}
	s.Objective.Set("vectors_centre", false)
	plain, err := translation.LearnText(s, bitext.InMemory(english, german), nil)
	if err != nil {
		t.Fatal(err)
	}
	mean, n := make([]float64, 5), 0
	for id := int32(tokenize.Unk + 1); id < int32(plain.Target.Vocabulary.Len()); id++ {
		n++
		for i, x := range plain.Vectors.Row(id) {
			mean[i] += float64(x)
		}
	}
	row := plain.Vectors.Row(tokenize.Unk + 1)
	squares, want := 0.0, make([]float64, 5)
	for i, x := range row {
		want[i] = float64(x) - mean[i]/float64(n)
		squares += want[i] * want[i]
	}
	for i, x := range pair.Vectors.Row(tokenize.Unk + 1) {
		if math.Abs(float64(x)-want[i]/math.Sqrt(squares)) > 1e-6 {
			t.Fatalf("the centred vector is %v, and without that %v with the mean %v of %d",
				pair.Vectors.Row(tokenize.Unk+1), row, mean, n)
		}
	}
	s.Objective.Set("vectors", filepath.Join(t.TempDir(), "none.vec"))
	if _, err := translation.LearnText(s, bitext.InMemory(english, german), nil); err == nil ||
		!strings.Contains(err.Error(), "none.vec") {
		t.Errorf("no file: %v", err)
	}
}
