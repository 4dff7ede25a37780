package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// parse reads arguments as the command does, over tiny.toml and the corpus of a workplace.
func parse(t *testing.T, folder string, arguments ...string) *experiment.Settings {
	t.Helper()
	return parseFor(t, experiment.SpecOf("wmt14"), folder, arguments...)
}

// parseFor are the settings of a run on the corpus in folder, with tiny.toml.
func parseFor(t *testing.T, spec *experiment.Spec, folder string, arguments ...string) *experiment.Settings {
	t.Helper()
	settings, err := experiment.Parse(spec, append([]string{"-config", filepath.Join(folder, "tiny.toml"), "-data", filepath.Join(folder, "corpus"), "-out",
		filepath.Join(folder, "out")}, arguments...))
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
		learnt, err := readTexts(settings, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := experiment.Open(settings, record.Env{})
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
	values, err := models.ReadTensors(c, file, torch.CPU)
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

// saveAt saves the weights as those of a step.
func saveAt(t *testing.T, trained *trainer, step int) checkpoint.Checkpoint {
	t.Helper()
	trained.state.Step = step
	if err := trained.save(); err != nil {
		t.Fatal(err)
	}
	c, err := trained.store.At(step)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The mean of checkpoints that are one is that one, bit for bit; the mean of others is their mean.
func TestMeanOfCheckpoints(t *testing.T) {
	withTrainer(t, parse(t, workplace(t), "-set=checkpoint.keep=9"), func(trained *trainer) {
		save := func(steps ...int) (saved []checkpoint.Checkpoint) {
			for _, step := range steps {
				saved = append(saved, saveAt(t, trained, step))
			}
			return saved
		}
		original := trained.weights()
		same := save(4, 8, 12)
		trained.shake(-3)
		if err := trained.takeMean(same); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(original, trained.weights()); diff != "" {
			t.Errorf("the mean of three equal checkpoints differs from them:\n%s", diff)
		}

		trained.shake(5) // 1 and 1 and 5 times the original
		if err := trained.takeMean(append(same[:2], save(16)...)); err != nil {
			t.Fatal(err)
		}
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
		rawLoss := trained.loss(t)
		failed := errors.New("failed")
		err := trained.withAverage(func() error {
			if diff := cmp.Diff(average, trained.weights()); diff != "" {
				t.Errorf("the average is not in place:\n%s", diff)
			}
			if loss := trained.loss(t); loss == rawLoss {
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
		caught := command.Guard(func() error { return trained.withAverage(func() error { panic(failed) }) })
		if diff := cmp.Diff(raw, trained.weights()); diff != "" || !errors.Is(caught, failed) {
			t.Errorf("after %v the weights did not come back:\n%s", caught, diff)
		}
	})
}

// The moving average after each update is decay times itself and the rest of the weights.
func TestMovingAverage(t *testing.T) {
	const decay = 0.75
	withTrainer(t, parse(t, workplace(t), "-set=train.ema_decay=0.75", "-set=checkpoint.every=1",
		"-set=checkpoint.keep=9", "-steps=4"), func(trained *trainer) {
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
						t.Fatalf("step %d: the average of %s[%d] is %g, want %g", step, name, i, stored[name][i],
							list[i])
					}
				}
			}
		}
		if diff := cmp.Diff(trained.stored(t, 4, modelFile), trained.weights()); diff != "" {
			t.Error("the newest checkpoint does not hold the weights")
		}
	})
}

// distances are |U^T U - I|_F and |V^T V - I|_F together.
func (t *trainer) distances() float64 {
	u, v := t.Output.Embedding().(*objectives.Factored).Orthogonality()
	return u + v
}

// The mean of checkpoints of factors says what their plain mean says, with orthonormal columns.
func TestMeanOfFactors(t *testing.T) {
	withTrainer(t, parse(t, workplace(t), "-method=spectrum", "-set=checkpoint.keep=9"), func(trained *trainer) {
		params := trained.Params.Tensors()
		stream := torch.NewStream(3, "moved")
		var used []checkpoint.Checkpoint
		var sum []torch.Tensor
		for step := 4; step <= 8; step += 4 {
			torch.NoGrad(func() {
				for i, p := range params {
					p.Assign(p.Add(stream.Normal(0, 0.05, p.DType(), p.Device(), p.Shape()...)))
					if step == 4 {
						sum = append(sum, p.Detach().Clone())
					} else {
						sum[i] = sum[i].Add(p.Detach())
					}
				}
			})
			used = append(used, saveAt(t, trained, step))
		}
		for i, p := range params {
			p.Assign(sum[i].MulScalar(0.5))
		}
		want, before := trained.loss(t), trained.distances()
		if err := trained.takeMean(used); err != nil {
			t.Fatal(err)
		}
		if got := trained.loss(t); math.Abs(got-want) > 1e-5 {
			t.Errorf("the mean costs %v nats a token, the plain mean %v", got, want)
		}
		if after := trained.distances(); before < 0.1 || after > 1e-4 {
			t.Errorf("the columns' distance from orthonormal ones goes from %v to %v", before, after)
		}
	})
}

// The moving average of factors is stored with orthonormal columns for tools, and as it is for going on.
func TestMovingAverageOfFactors(t *testing.T) {
	settings := parse(t, workplace(t), "-method=spectrum", "-set=train.ema_decay=0.75", "-set=checkpoint.every=1",
		"-set=checkpoint.keep=9", "-steps=4",
		"-set=objective.lambda_u=0", "-set=objective.lambda_v=0")
	withTrainer(t, settings, func(trained *trainer) {
		if err := trained.loop(context.Background()); err != nil {
			t.Fatal(err)
		}
		average := numbers(trained.named(trained.ema))
		for i, x := range trained.ema {
			x.Assign(x.MulScalar(float64(i))) // lost with the process
		}
		c, err := trained.store.At(4)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trained.restore(c); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(average, numbers(trained.named(trained.ema))); diff != "" {
			t.Errorf("the average does not go on from what it was:\n%.300s", diff)
		}
		err = trained.withAverage(func() error {
			if d := trained.distances(); d > 1e-4 {
				t.Errorf("validation sees columns %v away from orthonormal ones", d)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := trained.distances(); d < 1e-3 {
			t.Errorf("the weights themselves are only %v away", d)
		}
		stored, err := models.ReadTensors(c, averageFile, torch.CPU)
		if err != nil {
			t.Fatal(err)
		}
		if err := trained.Params.Load(stored); err != nil {
			t.Fatal(err)
		}
		if d := trained.distances(); d > 1e-4 {
			t.Errorf("the stored average's columns are %v away from orthonormal ones", d)
		}
	})
}

// loss is that of the validation text.
func (t *trainer) loss(tb testing.TB) float64 {
	tb.Helper()
	nll, err := t.task.validNLL()
	if err != nil {
		tb.Fatal(err)
	}
	return nll
}
