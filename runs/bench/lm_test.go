package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

var tinyText = textNetwork{name: "tiny", vocabulary: 40, width: 8, hidden: 12, layers: 2, columns: 5, steps: 6}

// TestTextTrainerLearns checks that what is timed is training: the loss of one
// chunk falls from that of a guess, and nothing is left behind.
func TestTextTrainerLearns(t *testing.T) {
	torch.Test(t, func() {
		r := &race{}
		defer r.close()
		trainer, err := newTextTrainer(r, tinyText, tinyText.chunks())
		if err != nil {
			t.Fatal(err)
		}
		first := trainer.collect(0)
		torch.ZeroGrad(trainer.params.Tensors())
		if guess := math.Log(40); math.Abs(first-guess) > 0.5 {
			t.Errorf("the first loss is %.2f nats, a guess costs %.2f", first, guess)
		}
		for range 20 {
			if err := trainer.update(0); err != nil {
				t.Fatal(err)
			}
		}
		handles := torch.LiveHandles()
		if err := trainer.update(0); err != nil {
			t.Fatal(err)
		}
		if left := torch.LiveHandles() - handles; left != 0 {
			t.Errorf("an update leaves %d tensors", left)
		}
		if last := trainer.collect(0); !(last < first-0.05) {
			t.Errorf("the loss went from %.3f to %.3f", first, last)
		}
	})
}

// TestEqualChunks checks that the peer reads the chunks that we train on.
func TestEqualChunks(t *testing.T) {
	chunks := tinyText.chunks()
	path, err := fake(t, context.Background(), "").writeChunks("tiny", chunks)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var read []struct{ Input, Target [][]int64 }
	if err := json.Unmarshal(data, &read); err != nil || len(read) != len(chunks) {
		t.Fatalf("%d chunks, %v", len(read), err)
	}
	for i, c := range chunks {
		if len(read[i].Input) != c.input.Time || len(read[i].Input[0]) != c.input.Columns || read[i].Input[2][3] != c.input.IDs[2*c.input.Columns+3] ||
			read[i].Target[5][4] != c.targets[5*c.input.Columns+4] {
			t.Errorf("chunk %d is not what was written", i)
		}
	}
}

// BenchmarkTextUpdate is our side of lstm_step/ptb alone, for profilers.
func BenchmarkTextUpdate(b *testing.B) {
	torch.Do(func() {
		torch.SetThreads(2)
		r := &race{}
		defer r.close()
		t, err := newTextTrainer(r, pennTreebank, pennTreebank.chunks())
		if err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		for i := range b.N {
			if err := t.update(i % len(t.chunks)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*pennTreebank.steps*pennTreebank.columns)/b.Elapsed().Seconds(), "tokens/s")
	})
}
