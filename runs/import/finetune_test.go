package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/train"
	"github.com/aperture-ml/aperture/torch"
)

// TestFineTuned: two epochs on Multi30k lower the validation loss of an imported MarianMTModel with random weights from
// one epoch to the next. A run that stopped goes on bit for bit without the imported one, and is exported like any
// other.
func TestFineTuned(t *testing.T) {
	data, model, start := t.TempDir(), filepath.Join(t.TempDir(), "model"), filepath.Join(t.TempDir(), "start")
	for name, count := range map[string]int{"train": 600, "val": 50, "test_2016_flickr": 2} {
		for _, language := range []string{".en", ".de"} {
			path, _ := some(t, name+language, count)
			if err := os.Rename(path, filepath.Join(data, name+language)); err != nil {
				t.Fatal(err)
			}
		}
	}
	peer(t, nil, "make", filepath.Join(data, "train.en"), filepath.Join(data, "train.de"), model,
		json.RawMessage(`{"pieces":400,"generation":{"max_length":40}}`))
	if log, err := imported(t, "-from", model, "-to", start); err != nil {
		t.Fatal(log, err)
	}
	whole, parts := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
	tune := func(args ...string) {
		t.Helper()
		s, err := experiment.Parse(experiment.SpecOf("own"), append([]string{"-data", data, "-valid=val",
			"-test=test_2016_flickr", "-init", start, "-epochs=2", "-threads=1", "-device=cpu", "-quiet",
			"-set=train.max_tokens=400", "-set=decode.validation_beam=0", "-set=report.plots=false",
			"-set=report.tensorboard=false", "-set=report.test=false", "-set=data.store=none"}, args...))
		if err != nil {
			t.Fatal(err)
		}
		torch.Test(t, func() { err = train.Run(context.Background(), s) })
		if err != nil {
			t.Fatal(err)
		}
	}
	tune("-out", whole)
	tune("-out", parts, "-steps=20")
	if err := os.RemoveAll(start); err != nil {
		t.Fatal(err)
	}
	tune("-out", parts, "-steps=100000", "-resume")

	log, err := os.ReadFile(filepath.Join(whole, experiment.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), ", new best"); n != 3 || strings.Count(string(log), "valid: update") != 3 {
		t.Errorf("of the start and two epochs %d have a new best validation loss:\n%s", n, log)
	}
	last, err := os.ReadFile(filepath.Join(whole, experiment.CheckpointsDir, "LATEST"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model.safetensors", "optimizer.safetensors"} {
		step := filepath.Join(experiment.CheckpointsDir, strings.TrimSpace(string(last)), name)
		one, err := os.ReadFile(filepath.Join(whole, step))
		other, otherErr := os.ReadFile(filepath.Join(parts, step))
		if err != nil || otherErr != nil || !bytes.Equal(one, other) {
			t.Errorf("%s of the run that stopped is another one: %v, %v", name, err, otherErr)
		}
	}
	program, out := filepath.Join(t.TempDir(), "export"), filepath.Join(t.TempDir(), "out")
	if said, err := exec.Command("go", "build", "-o", program, "../export").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if said, err := exec.Command(program, "-run", parts, "-to", "ctranslate2", "-out", out).CombinedOutput(); err != nil {
		t.Errorf("export: %v: %s", err, said)
	}
}
