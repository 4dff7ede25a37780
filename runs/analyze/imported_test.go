package main

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
)

// TestInputMatrices: the input vectors of a run that keeps no counts, as an imported one, with its vocabularies, and
// counts from a text.
func TestInputMatrices(t *testing.T) {
	torch.Test(t, func() {
		folder := t.TempDir()
		c := experiment.Default()
		d := &c.Data.TextSettings
		d.Merges, d.Joint, d.Tokenize, c.Model.Tying = 0, false, "none", "none"
		c.Model.EncoderLayers, c.Model.DecoderLayers, c.Model.Width, c.Model.FFNWidth, c.Model.Heads,
			c.Model.MaxPositions = 1, 1, 8, 16, 2, 32
		special := []string{"<s>", "<pad>", "</s>", "<unk>"}
		source := bitext.Given{Tokens: append(slices.Clone(special), "a", "b", "c")}
		target := bitext.Given{Tokens: append(slices.Clone(special), "x", "y")}
		tokenizer := filepath.Join(folder, experiment.TokenizerDir)
		if err := bitext.SaveGiven(*d, source, target, tokenizer); err != nil {
			t.Fatal(err)
		}
		pair, err := bitext.OpenSides(*d, tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		made, err := translation.New(c.Translation(), pair, torch.CPU)
		if err != nil {
			t.Fatal(err)
		}
		defer made.Free()
		saveRun(t, folder, c, made.Params)
		text := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(text, []byte("a b a\nb a d\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		for matrix, c := range map[string]struct {
			weight, text, word string
			counts             []float64
			ordered            bool
		}{
			"output": {"decoder.output_projection.weight", "", "y", []float64{0, 0, 0, 0, 2, 1}, true},
			"target": {"decoder.embed_tokens.weight", "", "y", []float64{0, 0, 0, 0, 2, 1}, true},
			"source": {"encoder.embed_tokens.weight", text, "b", []float64{0, 0, 0, 1, 3, 2, 0}, false},
		} {
			s, err := runFolder{folder, "run", 0, false, matrix, c.text}.open(io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := s.w.Float32s(), made.Params.Get(c.weight).Detach().Float32s(); !slices.Equal(got, want) {
				t.Errorf("%s: the matrix is not %s", matrix, c.weight)
			}
			for i, want := range c.counts {
				if got := s.counts[i]; got != want && !(want == 0 && math.IsNaN(got)) {
					t.Errorf("%s: the count of %q is %v, want %v", matrix, s.word(i), got, want)
				}
			}
			if s.word(5) != c.word || s.ordered != c.ordered {
				t.Errorf("%s: row 5 is %q, ordered %v", matrix, s.word(5), s.ordered)
			}
		}
	})
}
