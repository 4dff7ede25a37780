package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/train"
	"github.com/aperture-ml/aperture/torch"
)

func generate(t *testing.T, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	f, err := parse(arguments, io.Discard)
	if err != nil {
		return "", "", err
	}
	var out, warn bytes.Buffer
	torch.Test(t, func() { err = run(context.Background(), f, &out, &warn) })
	return out.String(), warn.String(), err
}

// A model of a text that goes round and round goes on with it.
func TestGenerate(t *testing.T) {
	folder := t.TempDir()
	out := filepath.Join(folder, "run")
	for _, name := range []string{"ptb.train", "ptb.valid", "ptb.test"} {
		if err := os.WriteFile(filepath.Join(folder, name+".txt"), []byte(strings.Repeat("a b c d e\n", 150)),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec := experiment.SpecOf("ptb")
	spec.DefaultPreset = "small"
	settings, err := experiment.Parse(spec,
		[]string{"-data", folder, "-set=data.store=none", "-out", out, "-epochs=10", "-threads=1",
			"-set=model.width=12", "-set=model.hidden=12", "-set=model.layers=1", "-set=train.columns=4",
			"-set=train.valid_columns=2", "-set=train.bptt=10", "-set=train.optimizer=adam",
			"-set=train.learning_rate=0.02", "-set=report.plots=false", "-set=report.tensorboard=false"})
	if err != nil {
		t.Fatal(err)
	}
	torch.Test(t, func() { err = train.Run(context.Background(), settings) })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"-prompt", "a b", "-words=12", "-temperature=0"}, "a b c d e\na b c d e\na b\n"},
		{[]string{"-words=6", "-temperature", "0"}, "a b c d e\n"},
		{[]string{"-prompt=a", "-words=7", "-top-k=1", "-seed=9"}, "a b c d e\na b\n"},
		{[]string{"-prompt=a", "-words=4", "-top-p=0.1"}, "a b c d e\n"},
		{[]string{"-prompt=a", "-words=4", "-min-p=1"}, "a b c d e\n"},
		{[]string{"-prompt=a", "-words=4", "-typical=0.1"}, "a b c d e\n"},
		{[]string{"-prompt=a", "-words=4", "-contrastive=0.1"}, "a b c d e\n"},
		{[]string{"-prompt=a b c d", "-words=1", "-temperature=0", "-repetition=1000"}, "a b c d e\n"},
	} {
		if got, _, err := generate(t, append(c.arguments, "-run", out, "-threads=1")...); err != nil || got != c.want {
			t.Errorf("%q: %q, %v; want %q", c.arguments, got, err, c.want)
		}
	}
	if _, _, err := generate(t, "-run", out, "-prompt=a strange word"); err == nil ||
		!strings.Contains(err.Error(), `does not know "strange"`) {
		t.Errorf("an unknown word: %v", err)
	}
	var usage *command.UsageError
	if _, _, err := generate(t, "-run", out, "-prompt=a", "-device=gpu"); !errors.As(err, &usage) ||
		!strings.Contains(err.Error(), `unknown device "gpu"`) {
		t.Errorf("no device: %v", err)
	}
	if _, _, err := generate(t, "-run", folder); err == nil || !strings.Contains(err.Error(), "holds no run") {
		t.Errorf("no run: %v", err)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct{ argument, part string }{
		{"-prompt=a", "-run is missing"}, {"-run=x -temperature=-1", "-temperature"}, {"-run=x -top-p=0", "-top-p"},
		{"-run=x -top-k=-2", "-top-k"}, {"-run=x -words=0", "-words"}, {"-run=x a b", `"a"`},
		{"-run=x -contrastive=0.6 -top-p=0.9", "-top-p does not go with -contrastive"},
		{"-run=x -contrastive=0.6 -seed=2", "-seed does not go with -contrastive"},
	} {
		_, err := parse(strings.Fields(c.argument), io.Discard)
		var usage *command.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v", c.argument, err)
		}
	}
}
