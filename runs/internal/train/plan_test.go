package train

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
)

// TestMemoryOfAPlan: the memory that a plan foresees is what updates take, within a tenth.
func TestMemoryOfAPlan(t *testing.T) {
	for run, methods := range map[string][]string{"wmt14": {"mle", "spectrum+cosreg"}, "ptb": {"mle", "mos", "softcap"}} {
		for _, method := range methods {
			t.Run(run+" "+method, func(t *testing.T) {
				checkPlan(t, run, "-method", method, "-threads=1")
			})
		}
	}
}

// TestMemoryOfEachPreset is the same for every preset on Multi30k or Penn Treebank.
func TestMemoryOfEachPreset(t *testing.T) {
	if os.Getenv("APERTURE_TEST_EVERYTHING") != "1" {
		t.Skip("APERTURE_TEST_EVERYTHING=1 makes two updates of each preset, which takes long")
	}
	for _, run := range experiment.Runs() {
		spec := experiment.SpecOf(run)
		files, err := fs.Glob(spec.FS, "*.toml")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		args := []string{"-data", fixtures.Path(t, "ptb"), "-train=ptb.train", "-valid=ptb.valid", "-test=ptb.test"}
		if spec.Task == experiment.Translation {
			args = []string{"-data", fixtures.Path(t, "multi30k"), "-set=data.valid=val", "-set=data.test=test_2016_flickr"}
		}
		for _, file := range files {
			preset := strings.TrimSuffix(file, ".toml")
			t.Run(run+" "+preset, func(t *testing.T) {
				checkPlan(t, run, append([]string{"-preset", preset, "-threads=2", "-set=data.store=none"}, args...)...)
			})
		}
	}
}

// checkPlan holds what a plan foresees against the most that tensors take in two updates: a first one makes the
// optimizer's state, and a second one has the largest batch, behind gradients where updates have several.
func checkPlan(t *testing.T, run string, args ...string) {
	t.Helper()
	settings, err := experiment.Parse(experiment.SpecOf(run), append(args, "-out", filepath.Join(t.TempDir(), "out")))
	if err != nil {
		t.Fatal(err)
	}
	if o := settings.Config.Objective; strings.Contains(o.Method, "adaptive") {
		t.Skipf("the text has fewer words than the cutoffs of %s want", o.Method)
	}
	empty := torch.LiveBytes()
	withTrainer(t, settings, func(tr *trainer) {
		scope := torch.OpenScope()
		defer scope.Close()
		looked, err := tr.look()
		if err != nil {
			t.Fatal(err)
		}
		activations, measured := tr.activations(looked)
		if measured == "" {
			t.Skip("the memory that is free does not hold weights and gradients")
		}
		foreseen := tr.stateBytes(1) + activations
		if tr.Vectors != nil {
			rows, width := tr.Output.Embedding().Size()
			foreseen += rows * width * 4
		}
		update := func(u models.Update) {
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
		var largest models.Batch
		for _, u := range looked {
			for _, b := range u.Batches {
				if largest == nil || b.Operations().All() > largest.Operations().All() {
					largest = b
				}
			}
		}
		torch.ResetPeakBytes()
		u := looked[0]
		u.Batches = u.Batches[:1]
		update(u)
		if u.Batches[0] = largest; tr.config.Train.Batches() > 1 {
			u.Batches = append(u.Batches, largest)
		}
		update(u)
		took := torch.PeakBytes() - empty
		if settings.Config.Train.ASGD != "none" && tr.asgd == nil {
			took += 4 * tr.Params.Count() // the averages, later
		}
		if ratio := float64(foreseen) / float64(took); ratio < 0.9 || ratio > 1.1 {
			t.Errorf("%d MiB are foreseen (%s), and updates took %d", foreseen>>20, measured, took>>20)
		}
		t.Logf("%d MiB are foreseen, activations of %d among them, and updates took %d", foreseen>>20, activations>>20,
			took>>20)
	})
}
