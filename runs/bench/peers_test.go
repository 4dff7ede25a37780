//go:build peers

// Tests that need the peers' packages, which no other test does:
//
//	APERTURE_PYTHON=PROGRAM go test -tags peers ./runs/bench
package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestPeers drives a row of each kind, of small sizes, against its peer.
func TestPeers(t *testing.T) {
	t.Setenv("APERTURE_DATA", smallMulti30k(t))
	network, attentional := tinyNetwork, tinyAttentional
	network.vocabulary, attentional.vocabulary = 4000, 4000 // as the text of the searches needs it
	rows := []row{
		{"softmax", "s", softmaxLayer(200, 8, 60).race},
		{"mixture", "s", mixtureLayer(200, 8, 60, 3).race},
		{"vectors", "s", vectorLayer(200, 8, 60, 5).race},
		{"loop", "s", attentionalLoop{rows: 3, positions: 4, steps: 5, words: 2, width: 6, layers: 2}.race},
		{"attentional", "s", tinyAttentional.race(tiedVMF, tokensOf)},
		{"beam", "s", network.translating("", 1)},
		{"ctranslate2", "s", network.translating("float32", 2)},
		{"ctranslate2 alone", "s", network.translatingAlone("float32", 40)},
		{"attentional beam", "s", attentional.translating},
		{"transformer", "s", func(b *bench, r *race) error { return tinyNetwork.race(b, r, false) }},
	}
	for i, n := range tiny() {
		rows = append(rows, row{n.name, "s", func(b *bench, r *race) error { return n.race(b, r, i == 0) }})
	}
	rows = append(append(rows, textRows...), loadRows()[:2]...)
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			b := fake(t, context.Background(), "")
			b.Python, b.Pairs = interpreter(), 1
			torch.Test(t, func() {
				if got, err := b.measure(r); err != nil || got.TimeRatio == nil {
					t.Errorf("the race gives %+v, %v", got, err)
				}
			})
		})
	}
}

// TestPeersGPTTrain: nanoGPT's recipe, which no row races, trains on a text and tells its loss.
func TestPeersGPTTrain(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("a cat sat on the mat\n", 100)), 0o666); err != nil {
		t.Fatal(err)
	}
	python := func(args ...string) string {
		out, err := exec.Command(interpreter(), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	python("-c", "import sys, tokenizers; t = tokenizers.ByteLevelBPETokenizer(); "+
		"t.train([sys.argv[1]], vocab_size=270); t.save_model(sys.argv[2])", text, folder)
	const minutes, threads = "0.01", "1"
	out := python("peer/gpt_train.py", folder, text, text, minutes, threads)
	if !strings.Contains(out, "updates; test loss ") {
		t.Errorf("it says %s", out)
	}
}
