package train

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/report"
)

// TestTracking: what the method makes of the output matrix is in metrics.jsonl and in the event file, at the period
// that was asked for and at no other step.
func TestTracking(t *testing.T) {
	folder := workplace(t)
	train(t, folder, "-method=spectrum+adversarial+cosreg", "-steps=12", "-out=run", "-set", "report.every=5", "-set",
		"report.tensorboard=true")
	records, err := report.ReadRecords(filepath.Join(folder, "run", "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{
		"i1", "i2", "i1_both_signs", "i2_both_signs", "mean_cosine", "frobenius", "sigma_max", "sigma_min",
		"sigma_ratio", "effective_rank",
		"orthogonality", "orthogonality_u", "orthogonality_v", "prior", "mean_cosine_penalty", "adversarial_gain",
	}
	var steps []int64
	for _, r := range records {
		for _, name := range names {
			x, there := r.Values[name]
			if there != (r.Split == report.SplitOutput) {
				t.Errorf("%s of step %d has %s: %v", r.Split, r.Step, name, there)
			}
			if math.IsNaN(x) {
				t.Errorf("%s of step %d is not defined", name, r.Step)
			}
		}
		if r.Split != report.SplitOutput {
			continue
		}
		steps = append(steps, r.Step)
		values := r.Lists[report.SingularValues]
		if len(values) != 16 || values[0] != r.Value("sigma_max") || values[15] != r.Value("sigma_min") ||
			len(r.Lists[report.CosineHistogram]) == 0 {
			t.Errorf("step %d has the singular values %v from %v to %v", r.Step, values, r.Value("sigma_max"),
				r.Value("sigma_min"))
		}
		if r.Value("adversarial_gain") <= 0 || r.Value("orthogonality") <= 0 {
			t.Errorf("step %d has the adversarial gain %v and the orthogonality penalty %v", r.Step,
				r.Value("adversarial_gain"), r.Value("orthogonality"))
		}
	}
	if !slices.Equal(steps, []int64{5, 10}) {
		t.Errorf("the output matrix was measured at %v", steps)
	}
	files, err := filepath.Glob(filepath.Join(folder, "run", "tb", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("event files %v, %v", files, err)
	}
	events, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if n := strings.Count(string(events), name+"/output"); n != 2 {
			t.Errorf("the event file has %s %d times", name, n)
		}
	}
}
