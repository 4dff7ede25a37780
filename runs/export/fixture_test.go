package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/train"
	"github.com/aperture-ml/aperture/torch"
)

// trained is the folder of a small run on the built-in sample, whose settings are changed by keys as in -set.
func trained(t *testing.T, run string, keys ...string) string {
	t.Helper()
	spec := experiment.SpecOf(run)
	out := filepath.Join(t.TempDir(), "run")
	args := []string{"-out", out, "-threads=1", "-device=cpu", "-set=train.steps=60",
		"-set=report.plots=false", "-set=report.tensorboard=false", "-set=report.test=false", "-set=report.samples=0"}
	if run == "multi30k" {
		args = append(args, "-preset=portable", "-set=data.sample=true",
			"-set=data.valid=valid", "-set=data.test=test", "-set=data.store=none", "-set=data.merges=200",
			"-set=data.sample_size=400", "-set=model.width=24", "-set=model.ffn_width=40", "-set=model.encoder_layers=2",
			"-set=model.decoder_layers=3", "-set=model.max_positions=64", "-set=schedule.warmup=20", "-set=train.max_tokens=600",
			"-set=decode.max_length_a=0", "-set=decode.max_length_b=20", "-set=decode.validation_beam=0")
	}
	for _, key := range keys {
		args = append(args, "-set="+key)
	}
	settings, err := experiment.Parse(spec, args)
	if err != nil {
		t.Fatal(err)
	}
	torch.Test(t, func() { err = train.Run(context.Background(), settings) })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// export runs the command.
func export(t *testing.T, args ...string) (log string, err error) {
	t.Helper()
	f, err := parse(args, io.Discard)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = run(context.Background(), f, &b)
	return b.String(), err
}
