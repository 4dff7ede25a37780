package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/torch"
)

// TestGPT2: a GPT-2 that transformers saved becomes a run with its ids, log-probabilities and continuations, and files
// that are missing are named in one sentence.
func TestGPT2(t *testing.T) {
	place := t.TempDir()
	from, to := filepath.Join(place, "gpt2"), filepath.Join(place, "run")
	var cases []struct {
		Line      string
		IDs, Next []int32
		LogProbs  []float64
	}
	peer(t, &cases, "gpt", "../../tokenize/bytebpe/testdata", from)
	if log, err := imported(t, "-from", from, "-to", to); err != nil || !strings.Contains(log, "2 layers of width 24") {
		t.Fatal(log, err)
	}
	m, err := language.Open(to, language.Options{Device: "cpu", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	err = m.Queue(context.Background(), func() error {
		torch.ScopedNoGrad(func() {
			for _, c := range cases {
				ids := m.Words.Encode(c.Line)
				if !slices.Equal(ids, c.IDs) {
					t.Errorf("%q is %v, in transformers %v", c.Line, ids, c.IDs)
					continue
				}
				chunk := models.Chunk{Time: len(ids), Columns: 1}
				for _, id := range ids {
					chunk.IDs = append(chunk.IDs, int64(id))
				}
				states, _ := m.Network.Forward(chunk, nil, nil)
				scores := m.Output.LogProbs(states.Hidden)
				all, width := scores.Float64s(), int(scores.Size(1))
				for i, want := range c.LogProbs {
					if got := all[i*width+int(ids[i+1])]; math.Abs(got-want) > 1e-4 {
						t.Errorf("%q: log-probability %d is %v, in transformers %v", c.Line, i, got, want)
					}
				}
				next := m.Continue(context.Background(), ids, language.SampleOptions{Words: len(c.Next)})
				if !slices.Equal(next, c.Next) {
					t.Errorf("%q goes on with %v, in transformers with %v", c.Line, next, c.Next)
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{"vocab.json": "vocab.json is missing", "model.safetensors": "is missing"} {
		path := filepath.Join(from, name)
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		_, err := imported(t, "-from", from, "-to", filepath.Join(place, "other"))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("without %s: %v", name, err)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
}
