package train

import (
	"path/filepath"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// TestMemoryOfAPlan: what a plan says that a batch takes is what updates take beside weights and state, within a tenth.
func TestMemoryOfAPlan(t *testing.T) {
	for run, methods := range map[string][]string{"wmt14": {"mle", "spectrum+cosreg"}, "ptb": {"mle", "mos", "softcap"}} {
		for _, method := range methods {
			settings, err := experiment.Parse(experiment.SpecOf(run), []string{"-method", method, "-steps=6", "-threads=1",
				"-out", filepath.Join(t.TempDir(), "out")})
			if err != nil {
				t.Fatal(err)
			}
			withTrainer(t, settings, func(tr *trainer) {
				scope := torch.OpenScope()
				defer scope.Close()
				again := func() (u updates) {
					if u, err = tr.task.updates(corpus.Position{}, nil); err != nil {
						t.Fatal(err)
					}
					return u
				}
				tr.updates.Close()
				tr.updates = again()
				looked, err := tr.look()
				if err != nil {
					t.Fatal(err)
				}
				looked = looked[:6]
				foreseen, measured := tr.activations(looked)
				tr.updates.Close()
				tr.updates = again()
				// A first update makes the optimizer's state.
				update := func() {
					u, err := tr.updates.Next()
					if err != nil {
						t.Fatal(err)
					}
					for _, batch := range u.Batches {
						step := torch.OpenScope()
						loss, nll := tr.learn(batch, tr.scale(u))
						tr.sums = append(tr.sums, loss, nll)
						torch.Keep(loss, nll)
						step.Close()
					}
					if err := tr.update(u); err != nil {
						t.Fatal(err)
					}
				}
				update()
				before := torch.LiveBytes()
				torch.ResetPeakBytes()
				for range len(looked) - 1 {
					update()
				}
				gradients := 4 * tr.Params.Count()
				took := torch.PeakBytes() - before
				if ratio := float64(foreseen+gradients) / float64(took); measured == "" || ratio < 0.9 || ratio > 1.1 {
					t.Errorf("%s with %s: %d bytes and gradients of %d are foreseen (%s), and updates took %d", run, method,
						foreseen, gradients, measured, took)
				}
				t.Logf("%s with %s: %d bytes are foreseen, updates took %d", run, method, foreseen+gradients, took)
			})
		}
	}
}
