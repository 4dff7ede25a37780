package main

import (
	"context"
	"io"
	"testing"

	"github.com/aperture-ml/aperture/internal/testdata"
	"github.com/aperture-ml/aperture/torch"
)

// BenchmarkUpdate is our side of transformer_step/multi30k alone, for profilers.
func BenchmarkUpdate(b *testing.B) {
	testdata.Path(b, "multi30k/train.en")
	bench, err := newBench(context.Background(), options{threads: 2}, io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	defer bench.close()
	torch.Do(func() {
		torch.SetThreads(bench.threads)
		batches, err := multi30kBatches(bench, smallNetwork)
		if err != nil {
			b.Fatal(err)
		}
		r := trainingRace(batches)
		defer r.close()
		t, err := newTrainer(r, smallNetwork, batches, "mle")
		if err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		tokens := 0
		for i := range b.N {
			if err := t.update(i % len(batches)); err != nil {
				b.Fatal(err)
			}
			tokens += batches[i%len(batches)].Tokens
		}
		b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
	})
}
