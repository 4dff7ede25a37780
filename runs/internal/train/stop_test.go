package train

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
)

// Training ends when validation has stalled for as long as it was given, on loss or on BLEU, and the rate falls
// meanwhile.
func TestEarlyStopping(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	// Weights that hardly move leave the score where it is.
	still := []string{"-set=train.learning_rate=1e-20", "-set=schedule.kind=constant", "-set=schedule.warmup=0",
		"-set=train.patience=3", "-set=train.log_every=4",
		"-set=schedule.plateau_decay=0.5", "-set=schedule.plateau_patience=2", "-steps=100"}
	for _, on := range []string{"loss", "bleu"} {
		settings := append(still, "-set=train.patience_on="+on, "-out="+on)
		e := mustRun(t, folder, settings...)
		if !strings.Contains(e.stderr, "stopping early: no better validation in 3 tries; the best was at update 4") {
			t.Errorf("on %s the process says\n%s", on, e.stderr)
		}
		if all := results(t, folder, on); all["updates"] != 16.0 || all["checkpoint"] != "step-4" {
			t.Errorf("on %s %v updates, the best is %v", on, all["updates"], all["checkpoint"])
		}
		var rates []float64
		for line := range strings.Lines(read(t, folder, on, "metrics.jsonl")) {
			var record struct {
				Split string
				LR    *float64
			}
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatal(err)
			}
			if record.Split == "train" {
				rates = append(rates, *record.LR)
			}
		}
		if diff := cmp.Diff([]float64{1e-20, 1e-20, 1e-20, 0.5e-20}, rates); diff != "" {
			t.Errorf("learning rates:\n%s", diff)
		}
		run(t, folder, append(settings, "-resume")...).fails(t, "a run that stopped early", 1,
			"is finished (16 updates", "raise train.patience (now 3)")
	}
	// One that ended so at its last step stays ended where there are more, and says why.
	short := append(still, "-out=short", "-steps=16")
	mustRun(t, folder, short...)
	e := mustRun(t, folder, append(short, "-resume", "-steps=20")...)
	if !strings.Contains(e.stderr, "no better validation in 3 tries; to train on, raise train.patience (now 3)") ||
		results(t, folder, "short")["updates"] != 16.0 {
		t.Errorf("with more steps the process says\n%s", e.stderr)
	}
	mustRun(t, folder, append(still, "-out=loss", "-resume", "-set=train.patience=4", "-set=train.patience_on=loss")...)
	if all := results(t, folder, "loss"); all["updates"] != 20.0 {
		t.Errorf("with more patience %v updates", all["updates"])
	}
}

// A signal during the tests after training ends the process too; -resume does the tests.
func TestSignalAfterTraining(t *testing.T) {
	folder := workplace(t)
	settings := parse(t, folder, "-steps=4")
	stopped, cancel := context.WithCancelCause(context.Background())
	cancel(&command.SignalError{Signal: syscall.SIGTERM})
	withTrainer(t, settings, func(trained *trainer) {
		if err := trained.loop(context.Background()); err != nil {
			t.Fatal(err)
		}
		err := trained.finish(stopped)
		var signal *command.SignalError
		if !errors.As(err, &signal) || command.ExitCode(err) != 143 {
			t.Errorf("the tests ended with %v", err)
		}
	})
	if _, err := os.Stat(filepath.Join(folder, "out", experiment.ResultsFile)); err == nil {
		t.Fatal("there are results of a run that was not tested")
	}
	mustRun(t, folder, "-steps=4", "-out=out", "-resume")
	train(t, folder, "-steps=4", "-out=whole")
	same(t, folder, "whole", "out")
}

// TestFinetuneWithoutARun: a preset that trains another run further wants to know which.
func TestFinetuneWithoutARun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	c := exec.Command(textBinary, "-preset=awd-lstm-finetune", "-steps=1", "-out=out")
	c.Dir = folder
	finish(t, c).fails(t, "a preset for finetuning", 2, "preset awd-lstm-finetune", "-init")
	if _, err := os.Stat(filepath.Join(folder, "out")); err == nil {
		t.Error("it made a run folder")
	}
}
