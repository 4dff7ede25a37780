package translator

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/sample"
	"github.com/aperture-ml/aperture/runs/internal/text"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// small is a configuration of a network that is made in no time.
func small(change func(*experiment.Config)) experiment.Config {
	c := experiment.Default()
	c.Data.Merges = 50
	c.Model.EncoderLayers, c.Model.DecoderLayers, c.Model.Width, c.Model.FFNWidth, c.Model.Heads, c.Model.MaxPositions = 1, 1, 8, 16, 2, 32
	change(&c)
	return c
}

func learnt(t *testing.T, c experiment.Config) *text.Pair {
	t.Helper()
	train, _, _ := sample.Translation(1, 40, 1, 1)
	pair, err := text.Learn(c.Data, train.Source, train.Target)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// A tied matrix stands once, and every matrix has the name that PyTorch users expect.
func TestTying(t *testing.T) {
	for tying, want := range map[string]string{
		"all":     "decoder.embed_tokens.weight",
		"decoder": "decoder.embed_tokens.weight encoder.embed_tokens.weight",
		"none":    "decoder.embed_tokens.weight decoder.output_projection.weight encoder.embed_tokens.weight",
	} {
		torch.Test(t, func() {
			c := small(func(c *experiment.Config) { c.Model.Tying = tying })
			made, err := New(c, learnt(t, c), torch.CPU)
			if err != nil {
				t.Fatal(err)
			}
			defer made.Free()
			tables := slices.DeleteFunc(slices.Clone(made.Params.Names()), func(name string) bool {
				return !strings.Contains(name, "embed_tokens") && !strings.Contains(name, "output_projection")
			})
			slices.Sort(tables)
			if diff := cmp.Diff(want, strings.Join(tables, " ")); diff != "" {
				t.Errorf("tying %s:\n%s", tying, diff)
			}
			for _, name := range []string{"encoder.layers.0.self_attn.q_proj.weight", "decoder.layers.0.encoder_attn.out_proj.bias", "decoder.layers.0.fc1.weight"} {
				if !made.Params.Get(name).Defined() {
					t.Errorf("there is no %s", name)
				}
			}
		})
	}
	torch.Test(t, func() {
		c := small(func(c *experiment.Config) { c.Data.Joint = false })
		_, err := New(c, learnt(t, c), torch.CPU)
		if err == nil || !strings.Contains(err.Error(), `model.tying = "all" needs one vocabulary`) {
			t.Errorf("two vocabularies under one matrix gave %v", err)
		}
	})
}

// folder writes a run folder with checkpoints of the weights times 1, 2 and 3, the last one with an average: times 10.
func folder(t *testing.T, c experiment.Config, made *Translator) string {
	t.Helper()
	path := t.TempDir()
	var config strings.Builder
	if err := c.WriteTOML(&config); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, experiment.ConfigFile), []byte(config.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := made.Text.Save(filepath.Join(path, experiment.TokenizerDir)); err != nil {
		t.Fatal(err)
	}
	scaled := func(name string, factor float64) checkpoint.File {
		return checkpoint.File{Name: name, Write: func(w io.Writer) error {
			scope := torch.OpenScope()
			defer scope.Close()
			all := made.Params.Map()
			for name, x := range all {
				all[name] = x.Detach().MulScalar(factor)
			}
			return torch.WriteSafetensors(w, all, nil)
		}}
	}
	store := checkpoint.Store{Dir: filepath.Join(path, experiment.CheckpointsDir)}
	for step := 1; step <= 3; step++ {
		files := []checkpoint.File{scaled("model.safetensors", float64(step))}
		if step == 3 {
			files = append(files, scaled("average.safetensors", 10))
		}
		if err := store.Save(step, files, ""); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// Open takes the best checkpoint, the average where there is one, and the newest whole one where the best is damaged.
func TestOpen(t *testing.T) {
	torch.Test(t, func() {
		c := small(func(c *experiment.Config) {})
		made, err := New(c, learnt(t, c), torch.CPU)
		if err != nil {
			t.Fatal(err)
		}
		defer made.Free()
		path := folder(t, c, made)
		const name = "decoder.layers.0.fc1.weight"
		opens := func(factor float64, warning string) {
			t.Helper()
			opened, warnings, err := Open(path, torch.CPU)
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Free()
			got, want := opened.Params.Get(name).Float64s(), made.Params.Get(name).Float64s()
			if float32(got[1]) != float32(want[1])*float32(factor) {
				t.Errorf("%s begins with %v, want %v times %v", name, got[1], factor, want[1])
			}
			if len(warnings) == 0 && warning != "" || len(warnings) > 0 && !strings.Contains(warnings[0].String(), warning) {
				t.Errorf("warnings %v, want %q", warnings, warning)
			}
		}
		store := checkpoint.Store{Dir: filepath.Join(path, experiment.CheckpointsDir)}
		opens(10, "BEST is not there")
		if err := store.MarkBest(2); err != nil {
			t.Fatal(err)
		}
		opens(2, "")
		if err := os.Truncate(filepath.Join(store.Dir, "step-2", "model.safetensors"), 100); err != nil {
			t.Fatal(err)
		}
		opens(10, "step-2/model.safetensors is cut off")
	})
}

// What is no run folder, or no longer one, is told with what is missing.
func TestOpenRefuses(t *testing.T) {
	torch.Test(t, func() {
		c := small(func(c *experiment.Config) {})
		made, err := New(c, learnt(t, c), torch.CPU)
		if err != nil {
			t.Fatal(err)
		}
		defer made.Free()
		fails := func(path string, parts ...string) {
			t.Helper()
			opened, _, err := Open(path, torch.CPU)
			if opened != nil {
				opened.Free()
			}
			if err == nil {
				t.Errorf("no error, want one with %q", parts)
				return
			}
			for _, part := range parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		}
		fails(t.TempDir(), "holds no run", "config.toml", "give the folder that a training run wrote")

		path := folder(t, c, made)
		if err := os.Rename(filepath.Join(path, "tokenizer", "vocabulary.de"), filepath.Join(path, "elsewhere")); err != nil {
			t.Fatal(err)
		}
		fails(path, filepath.Join("tokenizer", "vocabulary.de"))

		path = folder(t, c, made)
		if err := os.RemoveAll(filepath.Join(path, "checkpoints")); err != nil {
			t.Fatal(err)
		}
		fails(path, "no valid checkpoint in", "none has been saved yet")

		path = folder(t, c, made)
		changed := small(func(c *experiment.Config) { c.Model.FFNWidth = 24 })
		var config strings.Builder
		if err := changed.WriteTOML(&config); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, experiment.ConfigFile), []byte(config.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		fails(path, "average.safetensors", "fc1", "shape [16 8], the model needs [24 8]")
	})
}

// Rows of states know their time and their column.
func TestOutputStates(t *testing.T) {
	got := OutputStates(models.States{Rows: []int64{0, 1, 2, 4, 8, 9}, Width: 4}, 3)
	if diff := cmp.Diff([]int64{0, 0, 0, 1, 2, 2}, got.Column); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{0, 1, 2, 0, 0, 1}, got.Time); diff != "" || got.Columns != 3 {
		t.Error(diff, got.Columns)
	}
}
