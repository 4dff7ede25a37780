package main

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/testdata"
	"github.com/aperture-ml/aperture/torch"
)

// training is what the trainers of translators and of language models do.
type training interface {
	collect(i int) float64
	update(i int) error
}

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
		trainer, err := newTextTrainer(r, n.vocabulary, c, n.chunks())
		if err != nil {
			t.Fatal(err)
		}
		s := trainer.Params.Get("encoder.s")
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
func learns(t *testing.T, what string, trainer training, params *torch.Params, guess, near float64) {
	t.Helper()
	first := trainer.collect(0)
	torch.ZeroGrad(params.Tensors())
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

// written is what a peer reads from a file of JSON.
func written[T any](t *testing.T, path string, err error) (read T) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// TestGradientsAreCompared: each difference is found, and said in a sentence.
func TestGradientsAreCompared(t *testing.T) {
	ours := gradients{4, map[string]float64{"a": 2, "b": 0, "c": 1}}
	for want, change := range map[string]func(*gradients){
		"":                              func(g *gradients) { g.loss, g.norms["a"] = 4.0004, 2.009 },
		"loss is 4.00100 and ours 4.00": func(g *gradients) { g.loss = 4.001 },
		"loss is NaN":                   func(g *gradients) { g.loss = math.NaN() },
		"gradient of a is 2.02 long":    func(g *gradients) { g.norms["a"] = 2.02 },
		"gradient of b is 0.001 long":   func(g *gradients) { g.norms["b"] = 0.001 },
		"gradients of 2 weights":        func(g *gradients) { delete(g.norms, "c") },
		"gradient of c is 0 long":       func(g *gradients) { delete(g.norms, "c"); g.norms["d"] = 1 },
	} {
		peer := gradients{ours.loss, maps.Clone(ours.norms)}
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
		testdata.Path(b, "multi30k/train.en")
		bench, err := newBench(context.Background(), options{Threads: 2}, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		defer bench.close()
		benchmark(b, func(r *race) (training, error) {
			batches, err := multi30kBatches(bench, smallNetwork)
			if err != nil {
				return nil, err
			}
			return newTrainer(r, smallNetwork, batches, "mle")
		})
	})
	for _, n := range []textNetwork{pennTreebank, mixturePTB, fourLayers} {
		b.Run(n.name, func(b *testing.B) {
			benchmark(b, func(r *race) (training, error) { return newTextTrainer(r, n.vocabulary, n.config, n.chunks()) })
		})
	}
}

func benchmark(b *testing.B, build func(*race) (training, error)) {
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
