package train

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/tokenize/score"
)

// checkBest holds results.json of a run of 12 updates, the fourth of which is the best, to that.
func checkBest(t *testing.T, folder string) {
	t.Helper()
	found, err := record.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	best, epochs := found.Best, found.Epochs.Value()
	if best.Step != 4 || math.Abs(best.Epoch.Value()-epochs/3) > 1e-9 || best.Loss != found.Valid.NLL {
		t.Errorf("after 12 updates and %g epochs results.json says of the best %+v", epochs, best)
	}
	if seconds := best.Seconds.Value(); !(seconds > 0 && seconds < found.TrainSeconds.Value()) {
		t.Errorf("the best came after %g of %g seconds", seconds, found.TrainSeconds.Value())
	}
}

// checkF1 holds what results.json says of rare words to the texts, which hold words as spaces separate them.
func checkF1(t *testing.T, folder, out, data string) {
	t.Helper()
	found, err := record.Read(filepath.Join(folder, out))
	if err != nil {
		t.Fatal(err)
	}
	lines := func(parts ...string) []string {
		return strings.Split(strings.TrimSuffix(read(t, append([]string{folder}, parts...)...), "\n"), "\n")
	}
	buckets, err := score.WordF1(lines(out, "samples", "test.de"), lines(data, "test.de"),
		score.WordCounts(lines(data, "train.de")))
	if err != nil {
		t.Fatal(err)
	}
	f1, matches := found.Test["test"].F1, 0
	for _, b := range buckets {
		if got := f1[b.Name()]; got != record.Num(b.F1()) {
			t.Errorf("results.json has the F1 %v for words seen %s times, the texts %v", got.Value(), b.Name(), b.F1())
		}
		matches += b.Matches
	}
	if len(f1) != len(buckets) || matches == 0 {
		t.Errorf("F1 of %d buckets, %d matches: this test sees nothing", len(f1), matches)
	}
}
