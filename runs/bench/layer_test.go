package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestLayers drives our side of a row of each kind against a peer that answers at once.
// The loss of a layer that has learnt nothing is near that of a guess.
func TestLayers(t *testing.T) {
	const vocabulary = 60
	guess := math.Log(vocabulary)
	for name, l := range map[string]layer{
		"softmax": softmaxLayer(200, 8, vocabulary), "mixture": mixtureLayer(200, 8, vocabulary, 3), "vectors": vectorLayer(200, 8, vocabulary, 5),
	} {
		for loss, want := range map[string]string{"4.2": "", "5.5": "the two did not do the same work"} {
			b := fake(t, context.Background(), "")
			script := strings.ReplaceAll(jsonScript, "2.5}", loss+"}")
			if err := os.WriteFile(filepath.Join(b.folder, "peer", l.program), []byte(script), 0o666); err != nil {
				t.Fatal(err)
			}
			torch.Test(t, func() {
				r, err := l.race(b)
				if err != nil {
					t.Fatal(err)
				}
				defer r.close()
				got, err := r.run(b.ctx, 2)
				switch {
				case want != "" && l.alike:
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: a loss of %s where a guess costs %.1f gives %v", name, loss, guess, err)
					}
				case err != nil || got.TimeRatio == nil || got.MemoryRatio == nil || !strings.HasSuffix(got.Config, "V=60"):
					t.Errorf("%s: the race gives %+v, %v", name, got, err)
				}
			})
		}
	}
}

func TestMemoryOfPeers(t *testing.T) {
	available, err := availableMemory()
	if err != nil || available < 1<<20 {
		t.Errorf("%d bytes are available, %v", available, err)
	}
	if err := fits("x", available, available, ""); err != nil {
		t.Error(err)
	}
	b := &bench{options: options{Positions: 1 << 40}}
	if _, err := mixtureRace(b); err == nil || !strings.HasSuffix(err.Error(), "name fewer positions with -positions") {
		t.Errorf("more positions than fit into memory give %v", err)
	}
}
