package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/sample"
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
			p.Ranks[len(p.Ranks)-1] > float64(n) || !slices.Equal(p.Cosines, p.Ranks) {
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

// TestTranslatorsTexts: -save scores the test text that the run was tested on, and refuses one that has changed since.
func TestTranslatorsTexts(t *testing.T) {
	torch.Test(t, func() {
		folder, data := filepath.Join(t.TempDir(), "run"), t.TempDir()
		runFolderOf(t, folder, "mle")
		lines, _, _ := sample.Translation(2, 20, 1, 1)
		results, tokens := record.Results{Test: map[string]record.TestScores{"test": {}}}, 0
		results.Data.SHA256 = map[string]string{}
		for language, text := range map[string][]string{"en": lines.Source, "de": lines.Target} {
			content := []byte(strings.Join(text, "\n") + "\n")
			results.Data.SHA256["test."+language] = fmt.Sprintf("%x", sha256.Sum256(content))
			if err := os.WriteFile(filepath.Join(data, "test."+language), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		open := func() (*subject, error) {
			if err := files.WriteJSON(filepath.Join(folder, record.File), results); err != nil {
				t.Fatal(err)
			}
			c, err := experiment.ReadConfig(folder)
			if err != nil {
				t.Fatal(err)
			}
			c.Data.Dir, c.Data.Test = data, []string{"test"}
			if err := os.WriteFile(filepath.Join(folder, experiment.ConfigFile), []byte(c.TOML()), 0o644); err != nil {
				t.Fatal(err)
			}
			return runFolder{folder, "translator", 0, true, "output", ""}.open(io.Discard)
		}
		s, err := open()
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range s.kept.Blocks["test"] {
			tokens += b.Tokens
		}
		if len(s.kept.Blocks["test"]) != 2 || tokens < 40 {
			t.Errorf("20 lines make the blocks %v", s.kept.Blocks)
		}
		results.Data.SHA256["test.de"] = "of another text"
		if _, err := open(); err == nil || !strings.Contains(err.Error(), "test.de has changed since") {
			t.Errorf("-save with a text that has changed: %v", err)
		}
	})
}
