package exchange

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/aperture-ml/aperture/models/translation/bitext"
)

// fixture is a small network with random weights; tying is as model.tying.
func fixture(tying string, preNorm, bias bool) *Model {
	const d, f, places = 6, 10, 9
	m := &Model{
		Network: Network{Width: d, FFNWidth: f, Heads: 2, EncoderLayers: 1, DecoderLayers: 2, MaxPositions: places,
			PreNorm: preNorm, Positions: FairseqPositions, Activation: "relu", Epsilon: 1e-5, Dropout: 0.1},
		Tensors: map[string]Tensor{},
		Text: bitext.TextSettings{Source: "en", Target: "de", Normalize: true, Tokenize: "2017", Escape: true,
			SourceUnits: "bpe", TargetUnits: "bpe"},
		Codes:  []byte("#version: 0.2\na b\nab c</w>\n"),
		Source: []string{"<s>", "<pad>", "</s>", "<unk>", "a@@", "a", "ab@@", "abc"},
		Search: Search{Beam: 5, LengthPenalty: 1, A: 1.2, B: 10, MinLength: 1},
		Card: Card{Run: "own", Preset: "portable", Method: "mle", Data: "own",
			Scores: []Score{{"test", "BLEU (a|b)", 31.25}}, SHA256: map[string]string{"train.en": "00ff"}},
	}
	m.Target = m.Source
	random := rand.New(rand.NewPCG(1, 2))
	add := func(name string, shape ...int) {
		t := Tensor{Shape: shape}
		n := 1
		for _, size := range shape {
			n *= size
		}
		for range n {
			t.Values = append(t.Values, float32(random.NormFloat64()))
		}
		m.Tensors[name] = t
	}
	linear := func(name string, out, in int) {
		add(name+".weight", out, in)
		add(name+".bias", out)
	}
	norm := func(name string) {
		add(name+".weight", d)
		add(name+".bias", d)
	}
	attention := func(name string) {
		for _, part := range []string{"q_proj", "k_proj", "v_proj", "out_proj"} {
			linear(name+"."+part, d, d)
		}
		norm(name + "_layer_norm")
	}
	for k, side := range []string{"encoder", "decoder"} { // a map's order would make other weights each time
		for i := range k + 1 {
			at := fmt.Sprintf("%s.layers.%d.", side, i)
			attention(at + "self_attn")
			if side == "decoder" {
				attention(at + "encoder_attn")
			}
			linear(at+"fc1", f, d)
			linear(at+"fc2", d, f)
			norm(at + "final_layer_norm")
		}
		if preNorm {
			norm(side + ".layer_norm")
		}
		add(side+".embed_positions.weight", places, d)
	}
	add(decoderEmbedding, len(m.Target), d)
	if tying != "all" {
		add(encoderEmbedding, len(m.Source), d)
	}
	if tying == "none" {
		add(outputMatrix, len(m.Target), d)
	}
	if bias {
		add(outputBias, len(m.Target))
	}
	return m
}

// readJSON reads a file of a folder.
func readJSON[T any](t *testing.T, folder, name string) (value T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func readText(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
