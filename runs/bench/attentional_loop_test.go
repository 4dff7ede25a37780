package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestAttentionalLoopRace: a peer is raced whose loss is ours, and no other.
func TestAttentionalLoopRace(t *testing.T) {
	l := attentionalLoop{rows: 3, positions: 4, steps: 5, words: 2, width: 6, layers: 2}
	loss := "2.5"
	for _, equal := range []bool{false, true} {
		b := fake(t, context.Background(), "")
		script := strings.ReplaceAll(jsonScript, "2.5}", loss+"}")
		if err := os.WriteFile(filepath.Join(b.folder, "peer", "attentional_loop.py"), []byte(script), 0o666); err != nil {
			t.Fatal(err)
		}
		torch.Test(t, func() {
			r, err := l.race(b)
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			got, err := r.run(b.ctx, 2)
			if equal {
				if err != nil || got.TimeRatio == nil || got.MemoryRatio == nil || got.Config != "B=3 S=4 T=5 E=2 D=6 L=2" {
					t.Errorf("the race gives %+v, %v", got, err)
				}
				return
			}
			if err == nil {
				t.Fatal("a peer with another loss is raced")
			}
			if _, err := fmt.Sscanf(err.Error(), "attentional_loop.py: the peer's loss is 2.5 and ours %s", &loss); err != nil {
				t.Error(err)
			}
			loss = strings.TrimSuffix(loss, ":")
		})
	}
}
