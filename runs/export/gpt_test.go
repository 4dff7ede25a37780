package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/torch"
)

// trainedGPT is a run of a small GPT.
func trainedGPT(t *testing.T, keys ...string) string {
	return trained(t, "ptb", append([]string{"train.steps=5", "data.sample=true", "data.sample_size=200", "model.kind=gpt",
		"model.width=12", "model.heads=3", "model.ffn_width=20", "model.positions=learned", "model.activation=gelu_tanh",
		"objective.bias=false", "train.columns=4", "train.bptt=16", "model.max_positions=24", "data.units=bytes-bpe",
		"data.pieces=300"}, keys...)...)
}

// gptCase is a line as testdata/peers.py reads it.
type gptCase struct {
	Line     string      `json:"line"`
	IDs      []int32     `json:"ids"`
	LogProbs [][]float64 `json:"logprobs"`
	Next     []int32     `json:"next"`
}

func gptCases(t *testing.T, folder string) (all []gptCase) {
	t.Helper()
	m, err := language.Open(folder, language.Options{Device: "cpu", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	err = m.Queue(context.Background(), func() error {
		torch.ScopedNoGrad(func() {
			for _, line := range []string{"Hello", " the cat\n", "Ä €?", "\n\n  x"} {
				c := gptCase{Line: line, IDs: m.Words.Encode(line)}
				chunk := models.Chunk{Time: len(c.IDs), Columns: 1}
				for _, id := range c.IDs {
					chunk.IDs = append(chunk.IDs, int64(id))
				}
				states, _ := m.Network.Forward(chunk, nil, nil)
				scores := m.Output.LogProbs(states.Hidden)
				for row := range slices.Chunk(scores.Float64s(), int(scores.Size(1))) {
					c.LogProbs = append(c.LogProbs, row)
				}
				c.Next = m.Continue(context.Background(), c.IDs, language.SampleOptions{Words: 5})
				all = append(all, c)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestGPTInTransformers: transformers' GPT-2 has the run's ids, log-probabilities and most probable continuations.
func TestGPTInTransformers(t *testing.T) {
	packages := []string{"transformers", "torch"}
	fixtures.Python(t, packages...)
	for name, keys := range map[string][]string{
		"tied": nil, "own output, spectrum": {"model.tying=none", "objective.method=spectrum"},
		"sinusoidal, gelu": {"model.positions=sinusoidal", "model.activation=gelu"},
	} {
		t.Run(name, func(t *testing.T) {
			run, out := trainedGPT(t, keys...), filepath.Join(t.TempDir(), "out")
			if log, err := export(t, "-run", run, "-to=hf", "-out", out); err != nil {
				t.Fatalf("%s, %v", log, err)
			}
			cases := gptCases(t, run)
			var a struct {
				Class     string
				Worst     float64
				IDs, Next [][]int32
				Text      []string
			}
			fixtures.AskPeer(t, packages, &a, "gpt", out, cases)
			t.Logf("log-probabilities differ by at most %.1e", a.Worst)
			if a.Class != "GPT2LMHeadModel" || a.Worst > 1e-5 {
				t.Errorf("%s differs by %v", a.Class, a.Worst)
			}
			for i, c := range cases {
				if !slices.Equal(a.IDs[i], c.IDs) || a.Text[i] != c.Line || !slices.Equal(a.Next[i], c.Next) {
					t.Errorf("%q is %v and goes on with %v; in transformers %v, %v, %q", c.Line, c.IDs, c.Next, a.IDs[i], a.Next[i],
						a.Text[i])
				}
			}
		})
	}
}

// TestGPTComesBack: what is read of an exported folder is what was written; damaged files give one sentence or a model.
func TestGPTComesBack(t *testing.T) {
	run, out := trainedGPT(t, "model.tying=none"), filepath.Join(t.TempDir(), "out")
	if log, err := export(t, "-run", run, "-to=hf", "-out", out); err != nil {
		t.Fatalf("%s, %v", log, err)
	}
	want, err := readGPT(context.Background(), run, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	got, err := exchange.ReadGPT2(out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Tensors, got.Tensors); diff != "" {
		t.Error("other weights")
	}
	got.Tensors, want.Tensors, got.Pieces, want.Pieces, want.Card = nil, nil, nil, nil, exchange.Card{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	config, err := os.ReadFile(filepath.Join(out, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		bad := slices.Clone(config)
		for range 1 + r.IntN(4) {
			bad[r.IntN(len(bad))] = "0123456789-.,{}\":ae"[r.IntN(19)]
		}
		if err := os.WriteFile(filepath.Join(out, "config.json"), bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := exchange.ReadGPT2(out); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q", err)
		}
	}
}

// TestGPTRefusals: what GPT-2 cannot hold is refused in one sentence, and nothing is written.
func TestGPTRefusals(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	plain := trainedGPT(t)
	for says, args := range map[string][]string{
		`GPT-2 adds position vectors`:        {"-to=hf", "-run", trainedGPT(t, "model.positions=rotary")},
		`decoder.bias has no place in GPT-2`: {"-to=hf", "-run", trainedGPT(t, "objective.bias=true")},
		`or give -force-tokens`:              {"-to=hf", "-run", trainedGPT(t, "data.units=word")},
		`ctranslate2 takes translators here`: {"-to=ctranslate2", "-run", plain},
		`the formats hold one softmax`:       {"-to=hf", "-run", trainedGPT(t, "objective.method=mos")},
	} {
		_, err := export(t, append(args, "-out", out)...)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Fatal("something is written")
		}
	}
	words := trainedGPT(t, "data.units=word")
	if log, err := export(t, "-to=hf", "-run", words, "-out", out, "-force-tokens", "-quantise=bfloat16"); err != nil {
		t.Fatal(log, err)
	}
	var list []string
	if data, err := os.ReadFile(filepath.Join(out, "vocabulary.json")); err != nil || json.Unmarshal(data, &list) != nil ||
		!slices.Contains(list, "<eos>") {
		t.Error(fmt.Sprint(err), len(list))
	}
}
