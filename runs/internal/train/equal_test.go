package train

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// everything is set in the environment of tests that are to try all methods and networks, which takes minutes, to the
// seed of their runs.
const everything = "APERTURE_TEST_EVERYTHING"

// Several processes make of an update's batches what one makes of them, dropout and other draws included: after 50
// updates the weights of 1, 2 and, of some methods, 4 processes are within 1e-5 of one another.
func TestProcessesGiveTheWeightsOfOne(t *testing.T) {
	t.Parallel()
	folder, texts := workplace(t), textPlace(t)
	// Adam's first steps have the size of the rate however small the gradient; a larger epsilon keeps them from making
	// noise large.
	common := []string{"-steps=50", "-set=train.validate_every=50", "-set=train.epsilon=0.001",
		"-set=report.test=false", "-set=decode.validation_beam=0"}
	translate := append(common, "-set=train.max_tokens=60")
	type run = func(t *testing.T, folder string, arguments ...string) ended
	check := func(name string, run run, folder string, always bool, arguments ...string) {
		if !always && os.Getenv(everything) == "" {
			return
		}
		groups := []int{2, 4}
		if os.Getenv(everything) == "" && name != "translation/spectrum+adversarial" {
			groups = groups[:1] // four processes on two processors are slow: one method shows them
		}
		t.Run(name, func(t *testing.T) {
			out := func(what any) string { return strings.ReplaceAll(fmt.Sprintf("%s-%v", name, what), "/", "-") }
			one := append(slices.Clone(arguments), "-seed="+cmp.Or(os.Getenv(everything), "1"),
				"-set=train.accumulate=4")
			run(t, folder, append(one, "-out="+out(1))...)
			for _, n := range groups {
				run(t, folder, append(one, fmt.Sprint("-set=train.accumulate=", 4/n), fmt.Sprint("-processes=", n),
					"-out="+out(n))...)
				d, loss := apart(t, folder, out(1), out(n))
				t.Logf("%d processes: weights %.1e, validation loss %.1e", n, d, loss)
				if d < 1e-5 && loss < 1e-4 {
					continue
				}
				// Now and then training enlarges differences, those of rounding too: a unit that stands at ReLU's corner does. Then
				// one process whose products round otherwise is as far from itself.
				run(t, folder, append(one, otherRounding(), "-out="+out("rounding"))...)
				most, mostLoss := apart(t, folder, out(1), out("rounding"))
				t.Logf("one process with other rounding: weights %.1e, validation loss %.1e", most, mostLoss)
				if !(d < 10*most && loss < 10*max(mostLoss, 1e-4)) {
					t.Errorf("%d processes give weights that are %.2g from those of one, whom other rounding moves by "+
						"%.2g", n, d, most)
				}
				os.RemoveAll(filepath.Join(folder, out("rounding")))
			}
		})
	}
	check("translation/spectrum+adversarial+agg", mustRun, folder, true,
		append(translate, "-method=spectrum+adversarial+agg", "-set=objective.agg_alpha=0.5",
			"-set=train.clip_norm=0.5", "-set=train.ema_decay=0.9")...)
	check("language/stable covariance", mustRunText, texts, true,
		append(common, "-method=istar", "-set=objective.istar_updates=20")...)
	for _, row := range objectives.Methods() {
		check("translation/"+row.Name, mustRun, folder, row.Name == "adaptive" ||
			row.Name == "vmf", append(translate, "-method="+row.Name)...)
		s := objectives.Defaults()
		s.Method = row.Name
		if m, err := s.Resolve(); err != nil || !m.WordTargets {
			check("language/"+row.Name, mustRunText, texts, row.Name == "mos", append(common, "-method="+row.Name)...)
		}
	}
	for _, kind := range slices.DeleteFunc(translation.Kinds(),
		func(kind string) bool { return kind == "transformer" }) {
		check("translation/"+kind, mustRun, folder, false, append(translate, "-set=model.kind="+kind)...)
	}
	for _, kind := range language.Kinds() {
		check("language/"+kind, mustRunText, texts, false,
			append(common, "-set=model.kind="+kind, "-set=model.heads=2", "-set=train.bptt_random=false")...)
	}
}

// lastWeights are those of a run's newest checkpoint.
func lastWeights(t *testing.T, parts ...string) (all map[string][]float64) {
	t.Helper()
	folder := filepath.Join(append(parts, "checkpoints")...)
	step := strings.TrimSpace(read(t, folder, "LATEST"))
	torch.Test(t, func() {
		tensors, _, err := torch.ReadSafetensors(filepath.Join(folder, step, modelFile), torch.CPU)
		if err != nil {
			t.Fatal(err)
		}
		all = numbers(tensors)
	})
	return all
}

// otherRounding has sums computed by other kernels: our own, or else libtorch's.
func otherRounding() string {
	if torch.ISA() == "avx512" {
		return "env:APERTURE_ISA=avx2"
	}
	return "env:ATEN_CPU_CAPABILITY=default"
}

// apart is how far two runs' weights and validation losses are from one another, relative to their size.
func apart(t *testing.T, folder, one, other string) (weights, loss float64) {
	t.Helper()
	a, b := lastWeights(t, folder, one), lastWeights(t, folder, other)
	difference, size := 0.0, 0.0
	for name, xs := range a {
		if len(xs) != len(b[name]) {
			t.Fatalf("%s has %d numbers in %s and %d in %s", name, len(xs), one, len(b[name]), other)
		}
		for i, x := range xs {
			difference += (x - b[name][i]) * (x - b[name][i])
			size += x * x
		}
	}
	best := func(out string) float64 { return results(t, folder, out)["best"].(map[string]any)["loss"].(float64) }
	return math.Sqrt(difference / size), math.Abs(best(one)-best(other)) / math.Abs(best(one))
}
