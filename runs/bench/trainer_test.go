package main

import (
	"context"
	"io"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/torch"
)

// TestUpdatesClipAsTrainingDoes: what a method has clipped apart moves by the whole limit,
// whatever the other gradients.
func TestUpdatesClipAsTrainingDoes(t *testing.T) {
	torch.Test(t, func() {
		const limit = 1e-3
		n := tiny()[0]
		c := quiet(n.config)
		c.Objective.Set("method", "spectrum", "spectrum_hold", "group")
		c.Objective.Set("lambda_prior", 0) // its gradient would be nearly all of the joint norm
		c.Train.Optimizer, c.Train.LearningRate, c.Train.ClipNorm, c.Train.WeightDecay = "sgd", 1, limit, 0
		r := &race{}
		defer r.close()
		trainer, err := n.trainer(r, c, n.chunks())
		if err != nil {
			t.Fatal(err)
		}
		s := trainer.params.Get("encoder.s")
		before := s.Clone()
		if err := trainer.update(0); err != nil {
			t.Fatal(err)
		}
		if moved := s.Sub(before).Square().Sum().Sqrt().Item(); math.Abs(moved-limit) > limit/100 {
			t.Errorf("s has moved by %g, want the limit of %g", moved, limit)
		}
	})
}

// learns checks that what is timed is training: the loss of one batch falls from
// near that of a guess, and nothing is left behind. The trainer must draw no noise.
func learns(t *testing.T, what string, trainer *trainer, guess, near float64) {
	t.Helper()
	first := trainer.collect(0)
	torch.ZeroGrad(trainer.params.Tensors())
	if math.Abs(first-guess) > near {
		t.Errorf("%s: the first loss is %.2f nats, a guess costs %.2f", what, first, guess)
	}
	update := func() {
		if err := trainer.update(0); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		update()
	}
	handles := torch.LiveHandles()
	update()
	if left := torch.LiveHandles() - handles; left != 0 {
		t.Errorf("%s: an update leaves %d tensors", what, left)
	}
	if last := trainer.collect(0); !(last < first-0.05) {
		t.Errorf("%s: the loss went from %.3f to %.3f", what, first, last)
	}
}

// TestGradientsAreCompared: each difference is found, and said in a sentence.
func TestGradientsAreCompared(t *testing.T) {
	ours := gradients{4, map[string]float64{"a": 2, "b": 0, "c": 1}}
	for want, change := range map[string]func(*answer){
		"":                              func(g *answer) { g.Loss, g.Gradients["a"] = 4.0004, 2.009 },
		"loss is 4.00100 and ours 4.00": func(g *answer) { g.Loss = 4.001 },
		"loss is NaN":                   func(g *answer) { g.Loss = math.NaN() },
		"gradient of a is 2.02 long":    func(g *answer) { g.Gradients["a"] = 2.02 },
		"gradient of b is 0.001 long":   func(g *answer) { g.Gradients["b"] = 0.001 },
		"gradients of 2 weights":        func(g *answer) { delete(g.Gradients, "c") },
		"gradient of c is 0 long":       func(g *answer) { delete(g.Gradients, "c"); g.Gradients["d"] = 1 },
	} {
		peer := answer{Loss: ours.loss, Gradients: maps.Clone(ours.norms)}
		change(&peer)
		err := ours.compare(peer)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v gives %v, want %q", peer, err, want)
		}
	}
}

// BenchmarkUpdate is our side of training rows alone, for profilers.
func BenchmarkUpdate(b *testing.B) {
	b.Run("multi30k", func(b *testing.B) {
		fixtures.Path(b, "multi30k/train.en")
		bench, err := newBench(context.Background(), options{Threads: 2}, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		defer bench.close()
		benchmark(b, func(r *race) (*trainer, error) {
			batches, err := multi30kBatches(bench, smallNetwork)
			if err != nil {
				return nil, err
			}
			return smallNetwork.model("mle").trainer(r, batches)
		})
	})
	for _, n := range []textNetwork{pennTreebank, mixturePTB, fourLayers} {
		b.Run(n.name, func(b *testing.B) {
			benchmark(b, func(r *race) (*trainer, error) { return n.trainer(r, n.config, n.chunks()) })
		})
	}
}

func benchmark(b *testing.B, build func(*race) (*trainer, error)) {
	torch.Do(func() {
		torch.SetThreads(2)
		r := &race{}
		defer r.close()
		t, err := build(r)
		if err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		for i := range b.N {
			if err := t.update(i % differentBatches); err != nil {
				b.Fatal(err)
			}
		}
	})
}
