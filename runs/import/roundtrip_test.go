package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/sample"
	"github.com/aperture-ml/aperture/runs/internal/train"
	"github.com/aperture-ml/aperture/torch"
)

// TestExportedIsImported: a run that was exported for transformers and imported again translates as before, scores
// included, bit for bit.
func TestExportedIsImported(t *testing.T) {
	export := filepath.Join(t.TempDir(), "export")
	if out, err := exec.Command("go", "build", "-o", export, "../export").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, _, test := sample.Translation(1, 400, 10, 40)
	for class, keys := range map[string][]string{
		"FSMT": nil, "M2M100": {"model.pre_norm=true"}, "Marian": {"objective.bias=true"},
		"Marian, nothing tied": {"objective.bias=true", "model.tying=none", "data.joint=false", "model.positions=learned"},
	} {
		t.Run(class, func(t *testing.T) {
			folder := t.TempDir()
			first, model, second := filepath.Join(folder, "a"), filepath.Join(folder, "b"), filepath.Join(folder, "c")
			args := []string{"-out", first, "-threads=1", "-device=cpu", "-preset=portable", "-steps=60"}
			for _, key := range append([]string{"report.plots=false", "report.tensorboard=false", "report.test=false",
				"data.sample=true", "data.valid=valid", "data.test=test", "data.store=none", "data.merges=200",
				"data.sample_size=400", "data.aggressive=true", "model.width=24", "model.ffn_width=40",
				"model.encoder_layers=1", "model.decoder_layers=2", "model.max_positions=64", "schedule.warmup=20",
				"train.max_tokens=600", "decode.max_length_a=0", "decode.max_length_b=20"}, keys...) {
				args = append(args, "-set="+key)
			}
			s, err := experiment.Parse(experiment.SpecOf("multi30k"), args)
			if err != nil {
				t.Fatal(err)
			}
			torch.Test(t, func() { err = train.Run(context.Background(), s) })
			if err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(export, "-run", first, "-to=hf", "-out", model).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if log, err := imported(t, "-from", model, "-to", second); err != nil {
				t.Fatal(log, err)
			}
			before, err := open(t, first).Translate(context.Background(), test.Source, decode.Options{})
			if err != nil {
				t.Fatal(err)
			}
			after, err := open(t, second).Translate(context.Background(), test.Source, decode.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range before {
				if before[i] != after[i] {
					t.Errorf("%q: %+v before, %+v after", test.Source[i], before[i], after[i])
				}
			}
		})
	}
}
