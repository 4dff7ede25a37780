package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// TestGroups: words of like rank make a group, each word belongs to one, and the first words are groups of their own.
func TestGroups(t *testing.T) {
	for _, n := range []int{1, 7, 1000} {
		order, ones := make([]int, n), make([]float64, n)
		ranks := make([]float64, n)
		for i := range order {
			order[i], ones[i], ranks[i] = i, 1, float64(i+1)
		}
		p := &record.Picture{}
		group(p, order, ones, ranks)
		if p.Ranks[0] != 1 || len(p.Ranks) > 40 || math.Abs(p.Norms[len(p.Norms)-1]-1) > 1e-4 ||
			p.Ranks[len(p.Ranks)-1] > float64(n) {
			t.Errorf("%d words: %v", n, p.Ranks)
		}
	}
}

// TestBlocksAreWhatTheRunScored: the blocks of a text have together the loss that results.json has, also where windows
// overlap.
func TestBlocksAreWhatTheRunScored(t *testing.T) {
	torch.Test(t, func() {
		data := t.TempDir()
		text := strings.Repeat("a b b c c c d a\n", 40)
		for _, name := range []string{"train.txt", "valid.txt", "test.txt"} {
			if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		c := experiment.Default()
		c.Model.Kind, c.Model.Width, c.Model.Heads, c.Model.FFNWidth, c.Model.Layers = "gpt", 8, 2, 16, 1
		c.Model.Positions, c.Train.BPTT, c.Train.Stride, c.Train.TestColumns = "rotary", 8, 2, 2
		c.Data.Dir, c.Data.Train, c.Data.Valid, c.Data.Test, c.Data.Store = data, "train", "valid", []string{"test"}, "none"
		texts, err := experiment.ReadText(c.Data, "")
		if err != nil {
			t.Fatal(err)
		}
		m, err := language.New(c.Language(), texts.Words, torch.CPU)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		kept, err := scoreText(m, texts, m.Words.Counts(texts.Train.IDs))
		if err != nil {
			t.Fatal(err)
		}
		columns, err := corpus.NewColumns(texts.Tests[0].IDs, 2, "the text", "-test")
		if err != nil {
			t.Fatal(err)
		}
		want, tokens := m.NLL(columns)
		got, n := 0.0, 0
		for _, b := range kept.Blocks["test"] {
			got, n = got+b.NLL, n+b.Tokens
		}
		if math.Abs(got-want) > 1e-5*want || n != tokens {
			t.Errorf("the blocks have %g nats of %d tokens, the text %g of %d", got, n, want, tokens)
		}
	})
}
