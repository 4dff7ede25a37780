package train

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
)

// TestInputNoise: it falls in equal steps to its end in the last epoch, and stays
// where there is no last.
func TestInputNoise(t *testing.T) {
	m := experiment.Model{InputNoise: 0.2, InputNoiseEnd: 0.05}
	for _, c := range []struct {
		epoch, epochs int
		want          float64
	}{{0, 4, 0.2}, {1, 4, 0.15}, {2, 4, 0.1}, {3, 4, 0.05}, {9, 4, 0.05}, {0, 1, 0.2}, {5, 0, 0.2}} {
		if got := inputNoise(m, c.epoch, c.epochs); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("epoch %d of %d has noise %v, want %v", c.epoch, c.epochs, got, c.want)
		}
	}
}

func TestRate(t *testing.T) {
	fairseq := experiment.Schedule{Kind: "inverse_sqrt", Warmup: 4000}
	noam := func(factor float64, warmup int) experiment.Schedule {
		return experiment.Schedule{Kind: "noam", Warmup: warmup, Factor: factor}
	}
	step := experiment.Schedule{Kind: "step", Warmup: 10, Period: 100, Minimum: 1e-4}
	cosine := experiment.Schedule{Kind: "cosine", Warmup: 10, Minimum: 1e-5}
	for _, c := range []struct {
		name        string
		s           experiment.Schedule
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
		{"cosine peak", cosine, 1e-3, 512, 110, 10, 1e-3},
		{"cosine half way", cosine, 1e-3, 512, 110, 60, (1e-3 + 1e-5) / 2},
		{"cosine end", cosine, 1e-3, 512, 110, 110, 1e-5},
		{"cosine beyond", cosine, 1e-3, 512, 110, 500, 1e-5},
		{"constant", experiment.Schedule{Kind: "constant"}, 3e-4, 512, 0, 0, 3e-4},
		{"step rises", step, 1e-3, 512, 0, 5, 5e-4},
		{"step's last high rate", step, 1e-3, 512, 0, 99, 1e-3},
		{"step's first low rate", step, 1e-3, 512, 0, 100, 1e-4},
		{"step's last rate", step, 1e-3, 512, 0, 1000, 1e-4},
	} {
		if got := Rate(c.s, c.peak, c.width, c.total, c.done); math.Abs(got-c.want) > 1e-5*c.want+1e-15 {
			t.Errorf("%s: rate %g, want %g", c.name, got, c.want)
		}
	}
}
