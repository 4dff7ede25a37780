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

	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

var tinyAttentional = attentionalSize{vocabulary: 40, words: 6, width: 8, layers: 2, vectors: 5}

func TestAttentionalTrainerLearns(t *testing.T) {
	for _, method := range []string{"mle", "vmf"} {
		torch.Test(t, func() {
			defer torch.SetThreads(0)
			torch.SetThreads(1) // the matrices are too small to share
			r := &race{}
			defer r.close()
			trainer, err := newAttentionalTrainer(r, tinyAttentional, method, raggedBatches())
			if err != nil {
				t.Fatal(err)
			}
			trainer.rate = 0.01
			guess, near := math.Log(40), 0.2
			if method == "vmf" { // minus the log of a density: what a guess costs says nothing
				guess, near = 0, math.Inf(1)
			}
			learns(t, method, trainer, trainer.params, guess, near)
			for name, norm := range trainer.norms() {
				if !(norm > 0) || math.IsInf(norm, 1) {
					t.Errorf("%s: the gradient of %s is %v long", method, name, norm)
				}
			}
		})
	}
}

// TestAttentionalIgnoresNeighbours: a sentence has the same states alone as beside longer
// ones, so padding changes nothing.
func TestAttentionalIgnoresNeighbours(t *testing.T) {
	torch.Test(t, func() {
		r := &race{}
		defer r.close()
		trainer, err := newAttentionalTrainer(r, tinyAttentional, "vmf", nil)
		if err != nil {
			t.Fatal(err)
		}
		together := trainer.Forward(raggedBatches()[0])
		var alone []torch.Tensor
		for row, b := 0, raggedBatches()[0]; row < b.Rows; row++ {
			s, n := b.SourceLengths[row], b.TargetLengths[row]
			alone = append(alone, trainer.Forward(&corpus.Batch{Rows: 1, S: s, T: n, Tokens: n, SourceLengths: []int{s},
				Source: b.Source[row*b.S : row*b.S+s], Prev: b.Prev[row*b.T : row*b.T+n], Target: b.Target[row*b.T : row*b.T+n]}))
		}
		if apart := together.Sub(torch.Cat(alone, 0)).Abs().To(torch.Float64, torch.CPU).Sum().Item(); !(apart < 1e-4) {
			t.Errorf("states in a batch and alone differ by %g", apart)
		}
	})
}

// TestPublishedAttentional holds the sizes to the parameters that the authors' program has
// without its tables of words.
func TestPublishedAttentional(t *testing.T) {
	n := publishedAttentional
	n.vocabulary = 4
	torch.Test(t, func() {
		params := &torch.Params{}
		defer params.Free()
		_, output, err := newAttentional(n, "vmf", params)
		if err != nil {
			t.Fatal(err)
		}
		defer output.Free()
		sums := map[string]int64{}
		for name, x := range params.Map() {
			part, _, _ := strings.Cut(name, ".")
			sums[part] += x.Count()
		}
		const normalisation = 2 * 300 // which their generator lacks
		for part, want := range map[string]int64{
			"encoder": 10502144, "decoder": 18890752, "query": 1024 * 1024, "mix": 3145728 - 1024*1024, "target": 154112, "generator": 307500 + normalisation,
		} {
			if sums[part] != want {
				t.Errorf("%s has %d parameters, want %d", part, sums[part], want)
			}
		}
	})
}

// TestAttentionalRace: a peer is raced whose small network gives the same and whose large
// one has as many parameters beside its softmax; others are not.
func TestAttentionalRace(t *testing.T) {
	torch.Test(t, func() {
		b := fake(t, context.Background(), "")
		small, want, err := b.smallAttentional()
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
		trainer, err := newAttentionalTrainer(r, tinyAttentional, "mle", nil)
		if err != nil {
			t.Fatal(err)
		}
		params := trainer.params.Count()
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
			r, err := tinyAttentional.race(b)
			if (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("a peer with %d parameters and a loss of %.3f gives %v, want %q", c.params, c.loss, err, c.err)
			}
			r.close()
		}
	})
}
