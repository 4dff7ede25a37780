package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestLosses drives our side of a row of each kind against a peer that answers at once. The loss of a layer that has
// learnt nothing is near that of a guess.
func TestLosses(t *testing.T) {
	const vocabulary = 60
	guess := math.Log(vocabulary)
	for name, l := range map[string]layer{
		"softmax": softmaxLayer(200, 8, vocabulary), "mixture": mixtureLayer(200, 8, vocabulary, 3),
		"vectors": vectorLayer(200, 8, vocabulary, 5), "adaptive": adaptiveLayer(200, 8, vocabulary, 10, 30),
	} {
		for loss, want := range map[string]string{"4.2": "", "5.5": "the two did not do the same work"} {
			b := fake(t, context.Background(), "")
			b.Pairs = 2
			b.replace(t, l.program, strings.ReplaceAll(answers, "2.5}", loss+"}"))
			torch.Test(t, func() {
				got, err := b.measure(row{"x", "s", l.race})
				switch {
				case want != "" && l.alike:
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: a loss of %s where a guess costs %.1f gives %v", name, loss, guess, err)
					}
				case err != nil || got.TimeRatio == nil || got.MemoryRatio == nil ||
					!strings.HasSuffix(got.Config, "V=60"):
					t.Errorf("%s: the race gives %+v, %v", name, got, err)
				}
			})
		}
	}
}

// Frequent words come first, and all of the places are taken.
func TestZipfTargets(t *testing.T) {
	counts := map[int64]int{}
	for _, id := range zipfTargets(1400, 33278) {
		counts[id]++
	}
	if counts[4] < 120 || counts[4] > 135 || counts[5] < 60 || counts[5] > 68 || len(counts) < 500 || counts[0] > 0 {
		t.Errorf("of 1400 words the first two come %d and %d times, %d different ones", counts[4], counts[5], len(counts))
	}
}

func TestMemoryOfPeers(t *testing.T) {
	available, err := torch.AvailableMemory()
	if err != nil || available < 1<<20 {
		t.Errorf("%.0f bytes are available, %v", available, err)
	}
	b := &bench{options: options{Positions: 1 << 40}}
	if err := mixtureRace(b, &race{}); err == nil ||
		!strings.HasSuffix(err.Error(), "name fewer positions with -positions") {
		t.Errorf("more positions than fit into memory give %v", err)
	}
}

// TestAttentionalLoopRace: a peer is raced whose loss is ours, and no other.
func TestAttentionalLoopRace(t *testing.T) {
	l := attentionalLoop{rows: 3, positions: 4, steps: 5, words: 2, width: 6, layers: 2}
	loss := "2.5"
	for _, equal := range []bool{false, true} {
		b := fake(t, context.Background(), "")
		b.Pairs = 2
		b.replace(t, "attentional_loop.py", strings.ReplaceAll(answers, "2.5}", loss+"}"))
		torch.Test(t, func() {
			got, err := b.measure(row{"x", "s", l.race})
			if equal {
				if err != nil || got.TimeRatio == nil || got.MemoryRatio == nil ||
					got.Config != "B=3 S=4 T=5 E=2 D=6 L=2" {
					t.Errorf("the race gives %+v, %v", got, err)
				}
				return
			}
			if err == nil {
				t.Fatal("a peer with another loss is raced")
			}
			if _, err := fmt.Sscanf(err.Error(), "attentional_loop.py: the peer's loss is 2.5 and ours %s",
				&loss); err != nil {
				t.Error(err)
			}
			loss = strings.TrimSuffix(loss, ",")
		})
	}
}
