package main

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
)

// tiny is a network of each row with other sizes.
func tiny() []textNetwork {
	networks := []textNetwork{pennTreebank, mixturePTB, fourLayers, smallGPT, smallGPT.recomputing()}
	for i := range networks {
		n := &networks[i]
		n.vocabulary, n.columns, n.steps = 40, 5, 7
		m := &n.config.Model
		m.Width, m.Hidden, m.Layers, m.Heads, m.FFNWidth, m.Memory = 8, 12, 2, 2, 11, 7
		n.config.Objective.Set("mixture_components", 3, "adaptive_cutoffs", "10,20,30")
	}
	networks[1].config.Model.LastHidden = 10
	return networks
}

func TestTextTrainersLearn(t *testing.T) {
	for _, n := range tiny() {
		torch.Test(t, func() {
			r := &race{}
			defer r.close()
			c := quiet(n.config)
			// Rates for so small a network.
			if c.Train.LearningRate = 3; c.Train.Optimizer != "sgd" {
				c.Train.LearningRate = 0.01
			}
			trainer, err := n.trainer(r, c, n.chunks())
			if err != nil {
				t.Fatal(err)
			}
			learns(t, n.name, trainer, math.Log(40), 0.5)
		})
	}
}

// TestQuiet: without noise two steps from the same weights are the same, whatever the stream of noise.
func TestQuiet(t *testing.T) {
	for _, n := range tiny() {
		torch.Test(t, func() {
			r := &race{}
			defer r.close()
			loss := func(c experiment.Config, seed uint64) float64 {
				trainer, err := n.trainer(r, c, n.chunks())
				if err != nil {
					t.Fatal(err)
				}
				trainer.dropout = torch.NewStream(seed, "dropout")
				return trainer.collect(0)
			}
			if a, b := loss(quiet(n.config), 1), loss(quiet(n.config), 2); a != b {
				t.Errorf("%s: without noise the loss is %v, then %v", n.name, a, b)
			}
			if a, b := loss(n.config, 1), loss(n.config, 2); a == b {
				t.Errorf("%s: with noise the loss is %v twice", n.name, a)
			}
		})
	}
}

// TestEqualChunks checks that the peer reads the chunks that we train on, and that
// frequent words come first.
func TestEqualChunks(t *testing.T) {
	n := tiny()[0]
	n.steps = 200
	chunks := n.chunks()
	var read []struct{ Input, Target [][]int64 }
	asJSON(t, readableChunks(chunks), &read)
	if len(read) != len(chunks) {
		t.Fatalf("%d chunks are read, %d were written", len(read), len(chunks))
	}
	counts := make([]float64, n.vocabulary)
	for i, c := range chunks {
		if len(read[i].Input) != c.input.Time || len(read[i].Input[0]) != c.input.Columns ||
			read[i].Input[2][3] != c.input.IDs[2*c.input.Columns+3] ||
			read[i].Target[5][4] != c.targets[5*c.input.Columns+4] {
			t.Errorf("chunk %d is not what was written", i)
		}
		for _, id := range c.targets {
			counts[id]++
		}
	}
	for rank := range 10 { // log((r + 1) / r) / log(41) for rank r
		want := float64(differentBatches*n.steps*n.columns) * math.Log1p(1/float64(rank+1)) / math.Log(41)
		if math.Abs(counts[rank]-want) > 5*math.Sqrt(want) {
			t.Errorf("rank %d was drawn %.0f times, expected %.0f", rank, counts[rank], want)
		}
	}
}

// TestTextTraining drives our side of each kind of row against a peer that claims
// another loss, and so is refused.
func TestTextTraining(t *testing.T) {
	for _, n := range tiny() {
		b := fake(t, context.Background(), "")
		script := strings.Replace(answers, `"ready": true`,
			`"ready": true, "loss": 1.5, "gradients": {"encoder.weight": 2}`, 1)
		b.replace(t, n.program, script)
		torch.Test(t, func() {
			r := &race{}
			defer r.close()
			err := n.race(b, r, false)
			if err == nil || !strings.HasPrefix(err.Error(), "without noise the peer's loss is 1.50000 and ours 3.") {
				t.Errorf("%s: the error is %v", n.name, err)
			}
		})
	}
}
