package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

// imported runs the command.
func imported(t testing.TB, args ...string) (log string, err error) {
	t.Helper()
	f, err := parse(args, io.Discard)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	torch.Test(t, func() { err = run(f, &b) })
	return b.String(), err
}

func open(t testing.TB, folder string) *translation.Translator {
	t.Helper()
	tr, err := translation.Open(folder, translation.Options{Device: "cpu", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

// TestMarianEqualsNumPy: an archive of OPUS-MT gives translations the probability that Marian's formulas do.
func TestMarianEqualsNumPy(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	if log, err := imported(t, "-from=testdata/marian.zip", "-to", out, "-src=en", "-tgt=de"); err != nil {
		t.Fatal(log, err)
	}
	var golden []struct {
		Source, Target string
		LogProbability float64 `json:"log_probability"`
	}
	text, err := os.ReadFile("testdata/marian.json")
	if err == nil {
		err = json.Unmarshal(text, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	tr := open(t, out)
	for _, c := range golden {
		got, err := tr.Force(context.Background(), []string{c.Source}, []string{c.Target}, decode.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if sum := got[0].LogProb; math.Abs(sum-c.LogProbability) > 1e-3 {
			t.Errorf("%q has the log-probability %v, and %v by NumPy", c.Target, sum, c.LogProbability)
		}
	}
	found, err := tr.Translate(context.Background(), []string{"a man", ""}, decode.Options{})
	if err != nil || found[0].Err != nil || found[0].Text == "" || found[1].Text != "" {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestBadUsage: a command line that means nothing is refused in one sentence.
func TestBadUsage(t *testing.T) {
	gpt2 := t.TempDir()
	if err := os.WriteFile(filepath.Join(gpt2, "config.json"), []byte(`{"model_type": "gpt2"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		"-from is missing":                  {"-to=x"},
		"-to is missing":                    {"-from=x"},
		"-src and -tgt name both languages": {"-from=x", "-to=y", "-src=en"},
		"-src and -tgt are languages":       {"-from", gpt2, "-to=y", "-src=en", "-tgt=de"},
	} {
		_, err := imported(t, args...)
		var usage *command.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestConfigurations: a run has the keys of the model that is imported, where no weight shows them too.
func TestConfigurations(t *testing.T) {
	own := exchange.Tensor{Shape: []int{1}, Values: []float32{1}}
	c := configuration(&exchange.Model{
		Network: exchange.Network{Width: 4, Positions: exchange.MarianPositions, Epsilon: 1e-9, Dropout: 0.1, Attention: 0.2,
			Activations: 0.3},
		Tensors: map[string]exchange.Tensor{"decoder.output_projection.weight": own},
		Search: exchange.Search{Beam: 3, LengthPenalty: 0.7, A: 2, B: 1, MinLength: 4, NoRepeatNgram: 5,
			Stop: "transformers"},
	})
	d := c.Decode
	got := []any{c.Model.NormEpsilon, c.Model.Dropout, c.Model.AttentionDropout, c.Model.ActivationDropout, c.Model.Tying,
		d.Beam, d.Lenpen, d.MaxLengthA, d.MaxLengthB, d.MinLength, d.NoRepeatNgram, d.Stop}
	if want := []any{1e-9, 0.1, 0.2, 0.3, "none", 3, 0.7, 2.0, 1, 4, 5, "transformers"}; !slices.Equal(got, want) {
		t.Errorf("a translator has %v, want %v", got, want)
	}
	g := gptConfiguration(&exchange.GPT2{Epsilon: 1e-4, Dropout: 0.1, Attention: 0.2, MaxPositions: 9,
		Tensors: map[string]exchange.Tensor{"decoder.weight": own}})
	got = []any{g.Model.NormEpsilon, g.Model.Dropout, g.Model.AttentionDropout, g.Model.Tying, g.Train.BPTT}
	if want := []any{1e-4, 0.1, 0.2, "none", 9}; !slices.Equal(got, want) {
		t.Errorf("a GPT has %v, want %v", got, want)
	}
}

// TestNothingIsLeft: where an import fails, no part of a run folder stays, and one that is there is left alone.
func TestNothingIsLeft(t *testing.T) {
	place := t.TempDir()
	for says, args := range map[string][]string{
		"no such file":   {"-from", filepath.Join(place, "none"), "-to", filepath.Join(place, "out")},
		"holds neither":  {"-from", t.TempDir(), "-to", filepath.Join(place, "out")},
		"exists already": {"-from=testdata/marian.zip", "-to", place},
		"they must differ": {"-from=testdata/marian.zip", "-to", filepath.Join(place, "out"), "-src=en",
			"-tgt=en"},
		"they hold letters, digits and ._@+- alone": {"-from=testdata/marian.zip", "-to", filepath.Join(place, "out"),
			"-src=a/b", "-tgt=en"},
		"is neither a folder nor a ZIP": {"-from=main.go", "-to", filepath.Join(place, "out")},
	} {
		if _, err := imported(t, args...); err == nil || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if entries, err := os.ReadDir(place); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestMutatedArchive: whatever is damaged, an import ends with a sentence and nothing, or with a run that translates.
func TestMutatedArchive(t *testing.T) {
	archive, err := zip.OpenReader("testdata/marian.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	folder := t.TempDir()
	contents := map[string][]byte{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if contents[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, f.Name), contents[f.Name], 0o666); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(5, 6))
	files := []string{"decoder.yml", "opus.model1.npz.best-perplexity.npz", "opus.vocab.yml", "source.spm", "target.spm"}
	for i := range 25 {
		name, out := files[i%len(files)], filepath.Join(t.TempDir(), "run")
		data := slices.Clone(contents[name])
		for range 1 + random.IntN(4) {
			data[random.IntN(len(data))] = byte(random.Uint32())
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := imported(t, "-from", folder, "-to", out)
		if _, left := os.Stat(out); err != nil && (strings.Contains(err.Error(), "\n") || left == nil) {
			t.Errorf("%s: %v; the folder: %v", name, err, left)
		}
		if err == nil {
			tr := open(t, out)
			if _, err := tr.Translate(context.Background(), []string{"a man"}, decode.Options{}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, name), contents[name], 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
