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

	"github.com/aperture-ml/aperture/torch"
)

var tinyAttentional = attentionalSize{vocabulary: 40, words: 6, width: 8, layers: 2, vectors: 5, spread: 0.1}

func TestAttentionalTrainerLearns(t *testing.T) {
	for _, method := range []string{"mle", "vmf"} {
		torch.Test(t, func() {
			defer torch.SetThreads(0)
			torch.SetThreads(1) // the matrices are too small to share
			r := &race{}
			defer r.close()
			trainer, err := tinyAttentional.trainer(r, method, raggedBatches())
			if err != nil {
				t.Fatal(err)
			}
			trainer.rate = 0.01
			batch := trainer.batches[0]
			words := float64(batch.Tokens) / float64(batch.Rows) // of a sentence
			guess, near := math.Log(40)*words, 0.2*words
			if method == "vmf" { // minus the log of a density: what a guess costs says nothing
				guess, near = 0, math.Inf(1)
			}
			learns(t, method, trainer, trainer.Params, guess, near)
			for name, norm := range trainer.norms() {
				if !(norm > 0) || math.IsInf(norm, 1) {
					t.Errorf("%s: the gradient of %s is %v long", method, name, norm)
				}
			}
		})
	}
}

// TestAttentionalRace: a peer is raced whose small network gives the same and whose large
// one has as many parameters beside its softmax; others are not.
func TestAttentionalRace(t *testing.T) {
	torch.Test(t, func() {
		b := fake(t, context.Background(), "")
		small, want, err := b.checkedAttentional()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"weights", "batches"} {
			if info, err := os.Stat(small[key].(string)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", key, err)
			}
		}
		r := &race{}
		defer r.close()
		trainer, err := tinyAttentional.trainer(r, "mle", nil)
		if err != nil {
			t.Fatal(err)
		}
		params := trainer.Params.Count()
		for _, c := range []struct {
			params int64
			loss   float64
			err    string
		}{{params, want.loss, ""}, {params + 1, want.loss, "they are not the same"}, {params, want.loss + 0.01, "the two do not do the same work"}} {
			ready, err := json.Marshal(map[string]any{"ready": true, "params": c.params, "loss": c.loss, "gradients": want.norms})
			if err != nil {
				t.Fatal(err)
			}
			script := fmt.Sprintf("read config; echo '%s'; read go", ready)
			if err := os.WriteFile(filepath.Join(b.folder, "peer", "attentional_step.py"), []byte(script), 0o666); err != nil {
				t.Fatal(err)
			}
			r, err := tinyAttentional.race(b, "mle", tokensOf)
			if (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("a peer with %d parameters and a loss of %.3f gives %v, want %q", c.params, c.loss, err, c.err)
			}
			r.close()
		}
	})
}
