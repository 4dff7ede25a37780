package train

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/runs/internal/checkpoint"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/weights"
	"github.com/aperture-ml/aperture/torch"
)

// parse reads arguments as the command does, over tiny.toml and the corpus of a workplace.
func parse(t *testing.T, folder string, arguments ...string) *experiment.Settings {
	t.Helper()
	settings, err := experiment.Parse(&experiment.Spec{
		Name: "wmt14", Task: experiment.Translation, FS: os.DirFS("../../wmt14"), DefaultPreset: "base",
		Presets: []experiment.Preset{{Name: "base", File: "base.toml"}},
	}, append([]string{"-config", filepath.Join(folder, "tiny.toml"), "-data", filepath.Join(folder, "corpus"), "-out", filepath.Join(folder, "out")}, arguments...))
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

// withTrainer runs body on the torch thread with a trainer that is prepared; no tensor may outlive it.
func withTrainer(t *testing.T, settings *experiment.Settings, body func(t *trainer)) {
	t.Helper()
	torch.Test(t, func() {
		torch.SetThreads(1)
		learnt, err := newTask(settings)
		if err != nil {
			t.Fatal(err)
		}
		r, err := experiment.Open(settings, experiment.Env{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		trained := &trainer{run: r, task: learnt, config: r.Config}
		defer trained.free()
		if err := trained.prepare(torch.CPU); err != nil {
			t.Fatal(err)
		}
		body(trained)
	})
}

// weights are the parameters by name.
func (t *trainer) weights() map[string][]float64 { return numbers(t.Params.Map()) }

func numbers(tensors map[string]torch.Tensor) map[string][]float64 {
	scope := torch.OpenScope()
	defer scope.Close()
	all := map[string][]float64{}
	for name, x := range tensors {
		all[name] = x.Detach().Float64s()
	}
	return all
}

// stored are the tensors of a checkpoint's file.
func (t *trainer) stored(test *testing.T, step int, file string) map[string][]float64 {
	test.Helper()
	c, err := t.store.At(step)
	if err != nil {
		test.Fatal(err)
	}
	scope := torch.OpenScope()
	defer scope.Close()
	values, err := weights.Read(c, file, torch.CPU)
	if err != nil {
		test.Fatal(err)
	}
	return numbers(values)
}

// shake changes the parameters.
func (t *trainer) shake(factor float64) {
	scope := torch.OpenScope()
	defer scope.Close()
	torch.NoGrad(func() {
		for _, p := range t.Params.Tensors() {
			p.Assign(p.Detach().MulScalar(factor))
		}
	})
}

// The mean of checkpoints that are one is that one, bit for bit; the mean of others is their mean; and the weights that
// were there before come back.
func TestMeanOfCheckpoints(t *testing.T) {
	withTrainer(t, parse(t, workplace(t), "-set=checkpoint.keep=9"), func(trained *trainer) {
		save := func(steps ...int) (saved []checkpoint.Checkpoint) {
			for _, step := range steps {
				trained.state.Step = step
				if err := trained.save(); err != nil {
					t.Fatal(err)
				}
				c, err := trained.store.At(step)
				if err != nil {
					t.Fatal(err)
				}
				saved = append(saved, c)
			}
			return saved
		}
		original := trained.weights()
		same := save(4, 8, 12)
		trained.shake(-3)
		shaken := trained.weights()
		before, err := trained.takeMean(same)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(original, trained.weights()); diff != "" {
			t.Errorf("the mean of three equal checkpoints differs from them:\n%s", diff)
		}
		if diff := cmp.Diff(shaken, numbers(trained.named(before))); diff != "" {
			t.Errorf("the weights from before are lost:\n%s", diff)
		}
		torch.Free(before...)

		trained.shake(5) // 1 and 1 and 5 times the original
		before, err = trained.takeMean(append(same[:2], save(16)...))
		if err != nil {
			t.Fatal(err)
		}
		torch.Free(before...)
		for name, mean := range trained.weights() {
			for i, x := range mean {
				if want := original[name][i] * 7 / 3; math.Abs(x-want) > 1e-6*math.Abs(want)+1e-12 {
					t.Fatalf("%s[%d] is %g in the mean, want %g", name, i, x, want)
				}
			}
		}
	})
}

// What runs with the average sees it, and leaves the weights as they were, also when it fails.
func TestWithAverage(t *testing.T) {
	withTrainer(t, parse(t, workplace(t), "-set=train.ema_decay=0.9"), func(trained *trainer) {
		average := trained.weights()
		trained.shake(2)
		raw := trained.weights()
		rawLoss := trained.task.validNLL()
		failed := errors.New("failed")
		err := trained.withAverage(func() error {
			if diff := cmp.Diff(average, trained.weights()); diff != "" {
				t.Errorf("the average is not in place:\n%s", diff)
			}
			if loss := trained.task.validNLL(); loss == rawLoss {
				t.Errorf("the average and the weights have one loss %v", loss)
			}
			return failed
		})
		if err != failed {
			t.Errorf("the error is %v", err)
		}
		if diff := cmp.Diff(raw, trained.weights()); diff != "" {
			t.Errorf("the weights did not come back:\n%s", diff)
		}
		caught := experiment.Guard(func() error { return trained.withAverage(func() error { panic(failed) }) })
		if diff := cmp.Diff(raw, trained.weights()); diff != "" || !errors.Is(caught, failed) {
			t.Errorf("after %v the weights did not come back:\n%s", caught, diff)
		}
	})
}

// The moving average after each update is decay times itself and the rest of the weights.
func TestMovingAverage(t *testing.T) {
	const decay = 0.75
	withTrainer(t, parse(t, workplace(t), "-set=train.ema_decay=0.75", "-set=checkpoint.every=1", "-set=checkpoint.keep=9", "-steps=4"), func(trained *trainer) {
		average := trained.weights()
		if err := trained.loop(context.Background()); err != nil {
			t.Fatal(err)
		}
		for step := 1; step <= 4; step++ {
			raw, stored := trained.stored(t, step, modelFile), trained.stored(t, step, averageFile)
			for name, list := range average {
				for i := range list {
					list[i] = decay*list[i] + (1-decay)*raw[name][i]
					if math.Abs(list[i]-stored[name][i]) > 1e-6 {
						t.Fatalf("step %d: the average of %s[%d] is %g, want %g", step, name, i, stored[name][i], list[i])
					}
				}
			}
		}
		if diff := cmp.Diff(trained.stored(t, 4, modelFile), trained.weights()); diff != "" {
			t.Error("the newest checkpoint does not hold the weights")
		}
	})
}
