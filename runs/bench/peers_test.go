//go:build peers

// Tests that need PyTorch, which no other test does:
//
//	APERTURE_PYTHON=PROGRAM go test -tags peers ./runs/bench
package main

import (
	"context"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestLanguageModelPeers drives each kind of row against its peer.
func TestLanguageModelPeers(t *testing.T) {
	for i, n := range tiny() {
		b := fake(t, context.Background(), "")
		b.Python, b.Pairs = interpreter(), 1
		torch.Test(t, func() {
			got, err := b.measure(row{n.name, "tokens_per_s", func(b *bench) (*race, error) { return b.textTraining(n, i == 0) }})
			if err != nil || got.TimeRatio == nil || got.MemoryRatio == nil || got.OutsideProducts == nil || *got.OutsideProducts <= 0 || *got.OutsideProducts >= 1 {
				t.Errorf("%s: the race gives %+v, %v", n.name, got, err)
			}
		})
	}
}
