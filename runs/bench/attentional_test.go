package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/torch"
)

var tinyAttentional = attentionalSize{40, 6, 8, 2, 5, 0.1}

func TestAttentionalTrainerLearns(t *testing.T) {
	for _, l := range outputLayers {
		torch.Test(t, func() {
			defer torch.SetThreads(0)
			torch.SetThreads(1) // the matrices are too small to share
			r := &race{}
			defer r.close()
			batches := raggedBatches()
			trainer, err := tinyAttentional.model(l).trainer(r, batches)
			if err != nil {
				t.Fatal(err)
			}
			trainer.rate = 0.01
			words := float64(batches[0].Tokens) / float64(batches[0].Rows) // of a sentence
			guess, near := math.Log(40)*words, 0.2*words
			if l.method != "mle" || l.targets > 0 { // what a guess costs says nothing
				guess, near = 0, math.Inf(1)
			}
			learns(t, l.name, trainer, guess, near)
			for name, norm := range trainer.gradients(0).norms {
				if !(norm > 0) || math.IsInf(norm, 1) {
					t.Errorf("%s: the gradient of %s is %v long", l.name, name, norm)
				}
			}
		})
	}
}

// The parameters are those of Kumar and Tsvetkov (2019), table 4. The network has one layer here: its others change
// neither column.
func TestLayerParameters(t *testing.T) {
	n := publishedAttentional
	n.layers = 1
	got := map[string][2]int64{}
	for _, l := range outputLayers {
		torch.Test(t, func() {
			built, err := n.model(l).build(torch.CPU)
			if err != nil {
				t.Fatal(err)
			}
			defer built.Free()
			input, output := layerParameters(built.Params)
			got[l.name] = [2]int64{input, output}
		})
	}
	want := map[string][2]int64{
		"word": {25_600_000, 51_200_000}, "bpe": {8_192_000, 16_384_000}, "l2": {25_600_000, 307_200},
		"cosine": {25_600_000, 307_200}, "maxmargin": {25_600_000, 307_200}, "maxmargin-tied": {153_600, 307_200},
		"vmf": {25_600_000, 307_200}, "vmf-tied": {153_600, 307_200},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trained parameters of the decoder's input and of the output layer (-want +got):\n%s", diff)
	}
}

// TestLayers: an output layer is raced with the softmax over words.
func TestLayers(t *testing.T) {
	torch.Test(t, func() {
		b := fake(t, context.Background(), "")
		b.Pairs = 2
		for _, l := range []outputLayer{{"bpe", "mle", false, 20}, tiedVMF} {
			got, err := b.measure(row{"layers/" + l.name, "sentences_per_s", tinyAttentional.layer(l)})
			want := map[string]string{"bpe": "input 120, of the output layer 160",
				"vmf-tied": "input 30, of the output layer 40"}
			if err != nil || got.TimeRatio == nil || got.MemoryRatio == nil ||
				!strings.HasSuffix(got.Config, want[l.name]) {
				t.Errorf("%s gives %+v, %v", l.name, got, err)
			}
		}
	})
}

// TestAttentionalRace: a peer is raced only if its small network gives the same and its large one has the same number
// of parameters beside its softmax.
func TestAttentionalRace(t *testing.T) {
	torch.Test(t, func() {
		b := fake(t, context.Background(), "")
		small, want, err := b.checkedAttentional()
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(small["weights"].(string)); err != nil || info.Size() == 0 {
			t.Error(err)
		}
		r := &race{}
		defer r.close()
		trainer, err := tinyAttentional.model(wordSoftmax).trainer(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		params := trainer.params.Count()
		for _, c := range []struct {
			params int64
			loss   float64
			err    string
		}{
			{params, want.loss, ""}, {params + 1, want.loss, "they are not the same"},
			{params, want.loss + 0.01, "the two do not do the same work"},
		} {
			ready, err := json.Marshal(map[string]any{"ready": true, "params": c.params, "loss": c.loss,
				"gradients": want.norms})
			if err != nil {
				t.Fatal(err)
			}
			script := fmt.Sprintf("read config; echo '%s'; read go", ready)
			b.replace(t, "attentional_step.py", script)
			r := &race{}
			err = tinyAttentional.race(wordSoftmax, tokensOf)(b, r)
			if (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("a peer with %d parameters and a loss of %.3f gives %v, want %q", c.params, c.loss, err, c.err)
			}
			r.close()
		}
	})
}
