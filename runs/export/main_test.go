package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/torch"
)

// TestBadUsage: a command line that means nothing is refused in one sentence.
func TestBadUsage(t *testing.T) {
	for says, args := range map[string][]string{
		"-run is missing":                    {"-to=hf", "-out=x"},
		"-to is missing":                     {"-run=x", "-out=x"},
		"-out is missing":                    {"-run=x", "-to=hf"},
		"-to=onnx: it wants":                 {"-run=x", "-to=onnx", "-out=y"},
		"-quantise=int4: it wants":           {"-run=x", "-to=hf", "-out=y", "-quantise=int4"},
		"-quantise int8: transformers reads": {"-run=x", "-to=hf", "-out=y", "-quantise=int8"},
		"-force-tokens leaves the text path": {"-run=x", "-to=argos", "-out=y", "-force-tokens"},
	} {
		_, err := export(t, args...)
		var usage *command.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestRefusals: what a format cannot hold is refused by its key, and nothing is written.
func TestRefusals(t *testing.T) {
	plain := trained(t, "multi30k", "train.steps=5", "data.tokenize=current", "decode.length_penalty=gnmt",
		"decode.replace_unk=true")
	place := t.TempDir()
	out := filepath.Join(place, "out")
	for says, args := range map[string][]string{
		`model.kind = "attentional", and neither CTranslate2 nor transformers`: {"-to=ctranslate2", "-run",
			trained(t, "multi30k", "train.steps=5", "model.kind=attentional",
				"model.encoder_layers=3")},
		`objective.method = "mos", and the formats hold one softmax`: {"-to=hf", "-run",
			trained(t, "multi30k", "train.steps=5", "objective.method=mos")},
		`holds a language model, model.kind = "awd-lstm"`: {"-to=hf", "-run",
			trained(t, "ptb", "train.steps=5", "data.sample=true",
				"model.width=8", "model.hidden=8", "train.columns=4", "data.sample_size=50")},
		"data.aggressive = false: train with data.aggressive = true, or give -force-tokens": {"-to=hf", "-run", plain},
		"there is no folder": {"-to=hf", "-run", filepath.Join(place, "none")},
		"holds no run":       {"-to=hf", "-run", place},
	} {
		_, err := export(t, append(args, "-out", out)...)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if entries, err := os.ReadDir(place); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	log, err := export(t, "-run", plain, "-to=ctranslate2", "-out", out)
	if err != nil || !strings.Contains(log, "a line in some thousands is split otherwise") ||
		!strings.Contains(log, `nothing like decode.length_penalty = "gnmt", and translates otherwise`) ||
		!strings.Contains(log, "nothing like decode.replace_unk, and") {
		t.Errorf("%s, %v", log, err)
	}
	if _, err := export(t, "-run", plain, "-to=ctranslate2", "-out", out); err == nil ||
		!strings.Contains(err.Error(), "exists already") {
		t.Errorf("a second export: %v", err)
	}
	if _, err := export(t, "-run", plain, "-to=argos", "-out", filepath.Join(place, "none", "x")); err == nil {
		t.Error("an export into a missing folder")
	}
}

// TestMethodsOnPage: the page names the methods that no format holds.
func TestMethodsOnPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/export.md")
	if err != nil {
		t.Fatal(err)
	}
	var refused []string
	torch.Test(t, func() {
		for _, method := range objectives.Methods() {
			s := objectives.Defaults()
			s.Method = method.Name
			params, stream := &torch.Params{}, torch.NewStream(1, "weights")
			defer params.Free()
			o, err := objectives.New(s, objectives.Config{Vocabulary: 40, Width: 8, Padding: -1, Params: params,
				Embedding: "embedding", Output: "output", Stream: stream,
				Vectors: stream.Normal(0, 1, torch.Float32, torch.CPU, 40, 8)})
			if err != nil {
				t.Fatal(method.Name, err)
			}
			defer o.Free()
			if _, err := tensors(params, o, method.Name); err != nil {
				refused = append(refused, method.Name)
			}
		}
	})
	if want := "| method | all but " + strings.Join(refused, ", ") + " |"; !strings.Contains(string(page), want) {
		t.Errorf("docs/export.md lacks %q", want)
	}
}
