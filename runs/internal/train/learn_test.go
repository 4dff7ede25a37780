package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/torch"
)

// One update has the same gradients however it is cut into batches, penalties included. With plain gradient descent the
// weights after some updates tell: an update is the whole corpus, as one batch or as several.
func TestAccumulatedBatchesAreOneBatch(t *testing.T) {
	folder := workplace(t)
	trained := func(out string, arguments ...string) map[string][]float64 {
		var weights map[string][]float64
		settings := parse(t, folder, append(arguments, "-out", filepath.Join(folder, out), "-method=spectrum",
			"-steps=3", "-set=model.dropout=0",
			"-set=train.optimizer=sgd", "-set=schedule.kind=constant", "-set=schedule.warmup=0",
			"-set=train.validate_every=100")...)
		withTrainer(t, settings, func(r *trainer) {
			if err := r.loop(context.Background()); err != nil {
				t.Fatal(err)
			}
			if epochs := r.epoch(r.state); epochs != 3 {
				t.Errorf("three updates are %g epochs", epochs)
			}
			weights = r.weights()
		})
		return weights
	}
	for _, c := range []struct{ unit, rate string }{{"tokens", "0.5"}, {"sentences", "0.05"}} {
		unit, rate := c.unit, "-set=train.learning_rate="+c.rate
		whole := trained("whole "+unit, "-set=train.max_tokens=100000", "-set=train.normalise="+unit, rate)
		parts := trained("parts "+unit, "-set=train.max_tokens=150", "-set=train.accumulate=1000",
			"-set=train.normalise="+unit, rate)
		stronger := trained("stronger "+unit, "-set=train.max_tokens=100000", "-set=train.normalise="+unit, rate,
			"-set=objective.lambda_prior=1.1")
		if d := distance(whole, parts); d > 2e-5 {
			t.Errorf("per %s: one batch and many differ by %g", unit, d)
		}
		if d := distance(whole, stronger); d < 2e-4 {
			t.Errorf("per %s: a penalty that is a tenth stronger changes the weights by %g only, so that this test "+
				"sees nothing", unit, d)
		}
	}
}

// The same of a language model, whose columns fall into groups: activation regularisation is a mean over all of them.
func TestAccumulatedColumnsAreOneBatch(t *testing.T) {
	folder := textPlace(t)
	trained := func(out string, arguments ...string) map[string][]float64 {
		var weights map[string][]float64
		settings := parseText(t, folder, append([]string{"-out", filepath.Join(folder, out), "-steps=4",
			"-set=model.dropout=0", "-set=model.dropout_embedding=0", "-set=model.dropout_input=0",
			"-set=model.dropout_hidden=0", "-set=model.weight_drop=0", "-set=train.bptt_random=false",
			"-set=train.ar=20", "-set=train.tar=10", "-set=train.clip_norm=0", "-set=train.learning_rate=1"},
			arguments...)...)
		withTrainer(t, settings, func(r *trainer) {
			if err := r.loop(context.Background()); err != nil {
				t.Fatal(err)
			}
			weights = r.weights()
		})
		return weights
	}
	whole := trained("whole")
	for _, groups := range []string{"2", "3", "4"} { // of four columns: three groups are not of one size
		if d := distance(whole, trained("parts "+groups, "-set=train.accumulate="+groups)); d > 2e-5 {
			t.Errorf("one batch and %s differ by %g", groups, d)
		}
	}
	for _, key := range []string{"ar=22", "tar=11"} {
		if d := distance(whole, trained("stronger "+key, "-set=train."+key)); d < 2e-4 {
			t.Errorf("%s changes the weights by %g only, so that this test sees nothing", key, d)
		}
	}
}

// A task that must be learnt: copying digits, by probabilities and by the nearest vector.
func TestDigitsAreCopied(t *testing.T) {
	folder := workplace(t)
	random := rand.New(rand.NewPCG(5, 6))
	for _, split := range []struct {
		name  string
		lines int
	}{{"train", 3000}, {"valid", 60}, {"test", 100}} {
		var text strings.Builder
		for range split.lines {
			for i := range 3 + random.IntN(6) {
				if i > 0 {
					text.WriteByte(' ')
				}
				fmt.Fprint(&text, random.IntN(10))
			}
			text.WriteByte('\n')
		}
		write(t, filepath.Join(folder, "digits", split.name+".en"), text.String())
		write(t, filepath.Join(folder, "digits", split.name+".de"), text.String())
	}
	for method, perplexity := range map[string]float64{"mle": 1.02, "vmf": math.Inf(1)} {
		out := filepath.Join(folder, method)
		settings := parse(t, folder, "-data", filepath.Join(folder, "digits"), "-method="+method, "-out="+out,
			"-steps=500", "-set=data.merges=0",
			"-set=model.width=64", "-set=model.ffn_width=128", "-set=model.heads=4", "-set=model.dropout=0",
			"-set=model.pre_norm=true",
			"-set=objective.label_smoothing=0", "-set=train.max_tokens=600", "-set=train.learning_rate=0.005",
			"-set=schedule.warmup=50",
			"-set=train.validate_every=250", "-set=train.log_every=250", "-set=decode.beam=1")
		var err error
		torch.Test(t, func() { err = Run(context.Background(), settings) })
		if err != nil {
			t.Fatal(err)
		}
		found, err := record.Read(out)
		if err != nil {
			t.Fatal(err)
		}
		test := found.Test["test"]
		if undefined := math.IsNaN(test.PPL.Value()); test.PPL.Value() > perplexity || undefined != (method == "vmf") ||
			!(test.BLEU.Value() >= 98) {
			t.Errorf("%s: after 500 updates perplexity %.3f and BLEU %.2f", method, test.PPL.Value(), test.BLEU.Value())
		}
		checkF1(t, folder, method, "digits")
	}
}
