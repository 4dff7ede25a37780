package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models/decode"
)

// peer has testdata/peers.py call a function, or skips the test where its packages are missing.
func peer(t *testing.T, answer any, function string, arguments ...any) {
	t.Helper()
	fixtures.AskPeer(t, []string{"transformers", "torch", "sentencepiece"}, answer, function, arguments...)
}

// some writes the first lines of a text of Multi30k to a file.
func some(t *testing.T, name string, count int) (path string, lines []string) {
	t.Helper()
	data, err := os.ReadFile(fixtures.Path(t, "multi30k/"+name))
	if err != nil {
		t.Fatal(err)
	}
	lines = strings.SplitN(string(data), "\n", count+1)[:count]
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return path, lines
}

// TestMarianMTModel: an imported MarianMTModel with random weights translates as generate() does, with its scores.
// APERTURE_TEST_EVERYTHING=1 tries three of them on 50 lines each, else it is one on 15.
func TestMarianMTModel(t *testing.T) {
	everything := os.Getenv("APERTURE_TEST_EVERYTHING") != ""
	count := 15
	if everything {
		count = 50
	}
	source, _ := some(t, "train.en", 3000)
	target, _ := some(t, "train.de", 3000)
	_, lines := some(t, "test_2016_flickr.en", count)
	for name, options := range map[string]string{
		"one vocabulary, swish": `{"pieces":1000,"std":0.1,"end":2,"generation":{"num_beams":4,"max_length":40}}`,
		"two vocabularies, renormalised": `{"pieces":1000,"separate":true,"std":0.15,"end":1,"generation":
			{"num_beams":5,"max_length":30,"length_penalty":0.7,"renormalize_logits":true}}`,
		"BPE, gelu, no scale": `{"pieces":1000,"kind":"bpe","std":0.15,"end":1,"generation":{"num_beams":3,"max_length":25},
			"config":{"scale_embedding":false,"activation_function":"gelu"}}`,
	} {
		if !everything && !strings.HasPrefix(name, "two") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			model, out := filepath.Join(t.TempDir(), "model"), filepath.Join(t.TempDir(), "run")
			peer(t, nil, "make", source, target, model, json.RawMessage(options))
			var want struct {
				Lines  []string
				Scores []float64
			}
			peer(t, &want, "generate", model, lines)
			if log, err := imported(t, "-from", model, "-to", out); err != nil {
				t.Fatal(log, err)
			}
			found, err := open(t, out).Translate(context.Background(), lines, decode.Options{})
			if err != nil {
				t.Fatal(err)
			}
			same, worst := 0, 0.0
			distinct := map[string]bool{}
			for i, x := range found {
				distinct[x.Text] = true
				if x.Text == want.Lines[i] {
					same++
					worst = max(worst, math.Abs(x.Score-want.Scores[i]))
				}
			}
			said := fmt.Sprintf("%d of %d translations are the same, scores within %.2g; %d distinct", same, count, worst,
				len(distinct))
			t.Log(said)
			if same < count*48/50 || worst > 1e-3 || len(distinct) < 5 {
				t.Error(said)
			}
		})
	}
}
