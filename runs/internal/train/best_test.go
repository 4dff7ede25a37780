package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// given is a task whose validations have the scores that are given, one after the other.
type given struct {
	task
	scores []float64
}

func (g *given) validate() (validation, error) {
	score := g.scores[0]
	g.scores = g.scores[1:]
	return validation{nll: 10, score: score}, nil
}

// TestBestCheckpoint: the smallest score is the best, of checkpoints and of the mean of the last ones, which is that of
// the newest checkpoints of the schedule.
func TestBestCheckpoint(t *testing.T) {
	for what, c := range map[string]struct {
		scores []float64 // of updates 2, 4, 6 and 8, and of the mean
		best   int
		mean   bool
	}{
		"a checkpoint":               {[]float64{-3, -5, -4, -1, -2}, 4, false},
		"the mean":                   {[]float64{-3, -5, -4, -1, -6}, 8, true},
		"the mean, no better":        {[]float64{-3, -5, -4, -1, -5}, 8, true},
		"the newest beside its mean": {[]float64{3, 5, 4, 1, 2}, 8, false},
	} {
		folder := workplace(t)
		settings := parse(t, folder, "-steps=8", "-set=train.validate_every=2", "-set=checkpoint.every=2",
			"-set=checkpoint.keep=9", "-set=train.average_last=3")
		withTrainer(t, settings, func(r *trainer) {
			r.task = &given{r.task, c.scores}
			if err := r.loop(context.Background()); err != nil {
				t.Fatal(err)
			}
			r.state.Step = 7 // a signal left a checkpoint, which is none of the schedule
			if err := r.save(); err != nil {
				t.Fatal(err)
			}
			r.state.Step = 8
			if err := r.averageLast(); err != nil {
				t.Fatal(err)
			}
			best, _, err := r.store.Best()
			if err != nil || best.Step != c.best {
				t.Errorf("%s: the best is step %d, %v, want %d", what, best.Step, err, c.best)
			}
			if !c.mean {
				return
			}
			mean := map[string][]float64{}
			for _, step := range []int{4, 6, 8} {
				for name, list := range r.stored(t, step, modelFile) {
					for i, x := range list {
						if mean[name] == nil {
							mean[name] = make([]float64, len(list))
						}
						mean[name][i] += x / 3
					}
				}
			}
			if d := distance(mean, r.stored(t, 8, averageFile)); d > 1e-6 {
				t.Errorf("%s: the mean differs by %g from that of updates 4, 6 and 8", what, d)
			}
		})
	}
}

// TestLongerRunForgetsTheMean: a mean of the last checkpoints that only a former end asked for is none of the best
// weights of a run that goes on from there.
func TestLongerRunForgetsTheMean(t *testing.T) {
	folder := workplace(t)
	for i, args := range [][]string{{"-steps=8"}, {"-steps=12", "-resume"}} {
		settings := parse(t, folder, append(args, "-set=train.validate_every=2", "-set=checkpoint.every=2",
			"-set=checkpoint.keep=9", "-set=train.average_last=3")...)
		scores := [][]float64{{-3, -5, -4, -6, -7}, {-1, -1, 0}}[i] // of updates, and of the mean
		withTrainer(t, settings, func(r *trainer) {
			r.task = &given{r.task, scores}
			if err := errors.Join(r.loop(context.Background()), r.averageLast()); err != nil {
				t.Fatal(err)
			}
			best, _, err := r.store.Best()
			if err != nil || best.Step != 8 || best.Has(averageFile) != (i == 0) {
				t.Errorf("with %v the best is step %d, and it has an average: %v, %v", args, best.Step,
					best.Has(averageFile), err)
			}
		})
	}
}

// TestAverageOfOneCheckpoint: where there is nothing to average, the log says so.
func TestAverageOfOneCheckpoint(t *testing.T) {
	t.Parallel()
	e := mustRun(t, workplace(t), "-steps=1", "-set=train.average_last=3", "-set=report.test=false")
	if !strings.Contains(e.stderr, "train.average_last = 3 averages nothing") {
		t.Errorf("the process says\n%s", e.stderr)
	}
}

// TestScoreOfBLEU: the better BLEU has the smaller score. An untrained network has BLEU 0, so that its sign tells.
func TestScoreOfBLEU(t *testing.T) {
	folder := workplace(t)
	for _, on := range []string{"bleu", "loss"} {
		settings := parse(t, folder, "-set=train.patience_on="+on, "-out", filepath.Join(folder, on))
		withTrainer(t, settings, func(r *trainer) {
			v, err := r.task.validate()
			if err != nil {
				t.Fatal(err)
			}
			if *v.bleu != 0 || v.nll <= 0 || (on == "loss") != (v.score == v.nll) || (on == "bleu") != math.Signbit(v.score) {
				t.Errorf("on %s: %+v with BLEU %v", on, v, *v.bleu)
			}
		})
	}
}
