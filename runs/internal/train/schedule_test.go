package train

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
)

// TestInputNoise: it falls in equal steps to its end in the last epoch, and stays
// where there is no last.
func TestInputNoise(t *testing.T) {
	m := models.Settings{InputNoise: 0.2, InputNoiseEnd: 0.05}
	for _, c := range []struct {
		epoch, epochs int
		want          float64
	}{{0, 4, 0.2}, {1, 4, 0.15}, {2, 4, 0.1}, {3, 4, 0.05}, {9, 4, 0.05}, {0, 1, 0.2}, {5, 0, 0.2}} {
		if got := m.NoiseOfEpoch(c.epoch, c.epochs); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("epoch %d of %d has noise %v, want %v", c.epoch, c.epochs, got, c.want)
		}
	}
}

// TestInputNoiseOverSteps: where a run is given a number of updates, and none of epochs, the noise falls over the
// epochs that these begin.
func TestInputNoiseOverSteps(t *testing.T) {
	folder := workplace(t)
	settings := parse(t, folder, "-out", filepath.Join(folder, "noisy"), "-steps=3", "-set=model.input_noise=0.2",
		"-set=train.max_tokens=100000")
	withTrainer(t, settings, func(r *trainer) {
		for i, want := range []float64{0.2, 0.1, 0} { // an update is the whole corpus
			if _, err := r.updates.Next(); err != nil {
				t.Fatal(err)
			}
			if got := r.task.(*translationTask).Network.(*models.Transformer).InputNoise; math.Abs(got-want) > 1e-15 {
				t.Errorf("update %d of 3 has noise %g, want %g", i+1, got, want)
			}
		}
	})
}

// TestInputNoiseOfTextOverSteps is the same of a language model.
func TestInputNoiseOfTextOverSteps(t *testing.T) {
	t.Parallel()
	folder := textPlace(t)
	noisy := []string{"-set=model.input_noise=0.1", "-set=train.bptt_random=false"}
	trainText(t, folder, append(noisy, "-out=one", "-epochs=1", "-set=model.input_noise_end=0.1")...)
	each := int(results(t, folder, "one")["updates"].(float64))
	for name, length := range map[string][]string{"epochs": {"-epochs=2"}, "steps": {"-epochs=0", fmt.Sprint("-steps=", 2*each)},
		"level": {"-epochs=2", "-set=model.input_noise_end=0.1"}} {
		trainText(t, folder, slices.Concat(noisy, length, []string{"-out=" + name, "-set=train.validate_every=1000"})...)
	}
	sameTensors(t, folder, "epochs", "steps")
	if weights := filepath.Join("checkpoints", fmt.Sprint("step-", 2*each), "model.safetensors"); read(t, folder, "epochs",
		weights) == read(t, folder, "level", weights) {
		t.Error("the noise does not fall")
	}
}

// drawnEpochs are updates whose epochs have these numbers of them, and then one each.
type drawnEpochs struct {
	updates
	of []int
}

func (u drawnEpochs) Count(epochs int) (all int) {
	for i := range epochs {
		all++
		if i < len(u.of) {
			all += u.of[i] - 1
		}
	}
	return all
}

// TestEpochsOfDrawnLengths: noise falls over the epochs that the updates begin, also where those differ in length.
func TestEpochsOfDrawnLengths(t *testing.T) {
	for _, c := range []struct {
		of    []int
		steps int
		want  int
	}{{[]int{9, 11, 11}, 31, 3}, {[]int{11, 9, 9}, 29, 3}, {[]int{11, 9, 9}, 21, 3}, {[]int{10, 10}, 1, 1}} {
		if got := epochsOf(experiment.Train{Steps: c.steps}, drawnEpochs{of: c.of}); got != c.want {
			t.Errorf("%d updates begin %d epochs of %v, not %d", c.steps, got, c.of, c.want)
		}
	}
}

// TestCosineOverEpochs: without a period the rate falls over all epochs, whatever -steps cuts off.
func TestCosineOverEpochs(t *testing.T) {
	t.Parallel()
	folder := textPlace(t)
	settings := []string{"-set=schedule.kind=cosine", "-set=schedule.warmup=0", "-set=train.bptt_random=false",
		"-set=train.log_every=1", "-epochs=3"}
	trainText(t, folder, append(settings, "-out=whole")...)
	trainText(t, folder, append(settings, "-out=cut", "-steps=5")...)
	var rates [2][]float64
	for i, run := range []string{"whole", "cut"} {
		records, err := report.ReadRecords(filepath.Join(folder, run, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.Split == report.SplitTrain {
				rates[i] = append(rates[i], r.Values[report.LearningRate])
			}
		}
	}
	n := len(rates[0])
	if n < 9 || len(rates[1]) != 5 {
		t.Fatalf("there are %d rates of three epochs and %d of five updates", n, len(rates[1]))
	}
	for i, got := range rates[0] {
		// The line after update i+1 shows the rate of the one that follows.
		want := 2.5 * (1 + math.Cos(math.Pi*float64(i+1)/float64(n)))
		if math.Abs(got-want) > 1e-9 || i < 5 && rates[1][i] != got {
			t.Errorf("after update %d the rate is %g, want %g", i+1, got, want)
		}
	}
}

// TestCosineGoesOn: where updates end a run, raising their number lets it learn on, unless a period says that it is over;
// then a note says so.
func TestCosineGoesOn(t *testing.T) {
	t.Parallel()
	folder := textPlace(t)
	for name, c := range map[string]struct {
		period int
		learns bool
	}{"open": {0, true}, "closed": {3, false}} {
		settings := []string{"-set=schedule.kind=cosine", "-set=schedule.warmup=0", "-set=train.log_every=1", "-epochs=0",
			fmt.Sprint("-set=schedule.period=", c.period), "-out=" + name}
		mustRunText(t, folder, append(settings, "-steps=3")...)
		e := mustRunText(t, folder, "-out="+name, "-steps=6", "-resume")
		records, err := report.ReadRecords(filepath.Join(folder, name, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		most := 0.0
		for _, r := range records {
			if r.Split == report.SplitTrain && r.Step > 3 {
				most = max(most, r.Values[report.LearningRate])
			}
		}
		if learns := most > 0; learns != c.learns {
			t.Errorf("%s: the highest rate behind update 3 is %g", name, most)
		}
		if said := strings.Contains(e.stderr, "the run learns nothing behind it"); said == c.learns {
			t.Errorf("%s says\n%s", name, e.stderr)
		}
	}
}

func TestRate(t *testing.T) {
	fairseq := models.Schedule{Kind: "inverse_sqrt", Warmup: 4000}
	noam := func(factor float64, warmup int) models.Schedule {
		return models.Schedule{Kind: "noam", Warmup: warmup, Factor: factor}
	}
	noamAbove := func(minimum float64) models.Schedule {
		return models.Schedule{Kind: "noam", Warmup: 4000, Factor: 1, Minimum: minimum}
	}
	step := models.Schedule{Kind: "step", Warmup: 10, Period: 100, Minimum: 1e-4}
	cosine := models.Schedule{Kind: "cosine", Warmup: 10, Minimum: 1e-5}
	linear := models.Schedule{Kind: "linear", Warmup: 10, Minimum: 1e-5}
	for _, c := range []struct {
		name        string
		s           models.Schedule
		peak        float64
		width       int
		total, done int
		want        float64
	}{
		{"fairseq's first update has rate 0", fairseq, 5e-4, 512, 0, 0, 0},
		{"fairseq 1", fairseq, 5e-4, 512, 0, 1, 1.25e-7},
		{"fairseq peak", fairseq, 5e-4, 512, 0, 4000, 5e-4},
		{"fairseq 8000", fairseq, 5e-4, 512, 0, 8000, 3.53553e-4},
		{"fairseq 16000", fairseq, 5e-4, 512, 0, 16000, 2.5e-4},
		{"noam peak of base", noam(1, 4000), 0, 512, 0, 3999, 6.98771e-4},
		{"noam peak of big", noam(1, 4000), 0, 1024, 0, 3999, 4.94106e-4},
		{"noam peak of OpenNMT's base", noam(2, 8000), 0, 512, 0, 7999, 9.88212e-4},
		{"noam's first update", noam(1, 4000), 0, 512, 0, 0, 1 / math.Sqrt(512) * math.Pow(4000, -1.5)},
		{"noam's least rate", noamAbove(1e-4), 0, 512, 0, 1e6, 1e-4},
		{"noam's warm-up has none", noamAbove(1e-4), 0, 512, 0, 0, 1 / math.Sqrt(512) * math.Pow(4000, -1.5)},
		{"cosine peak", cosine, 1e-3, 512, 110, 10, 1e-3},
		{"cosine half way", cosine, 1e-3, 512, 110, 60, (1e-3 + 1e-5) / 2},
		{"cosine end", cosine, 1e-3, 512, 110, 110, 1e-5},
		{"cosine beyond", cosine, 1e-3, 512, 110, 500, 1e-5},
		{"linear half way", linear, 1e-3, 512, 110, 60, (1e-3 + 1e-5) / 2},
		{"linear end", linear, 1e-3, 512, 110, 110, 1e-5},
		{"constant", models.Schedule{Kind: "constant"}, 3e-4, 512, 0, 0, 3e-4},
		{"step rises", step, 1e-3, 512, 0, 5, 5e-4},
		{"step's last high rate", step, 1e-3, 512, 0, 99, 1e-3},
		{"step's first low rate", step, 1e-3, 512, 0, 100, 1e-4},
		{"step's last rate", step, 1e-3, 512, 0, 1000, 1e-4},
	} {
		if got := models.Rate(c.s, c.peak, c.width, c.total, c.done); math.Abs(got-c.want) > 1e-5*c.want+1e-15 {
			t.Errorf("%s: rate %g, want %g", c.name, got, c.want)
		}
	}
}
