package decode_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// fixture is one of the small trained models with its output layer.
type fixture struct {
	model  *models.Transformer
	params *torch.Params
	output torch.Tensor
	words  int // of the source's vocabulary
}

// transformer is a configuration without noise.
func transformer(encoder, decoder, width, ffn, heads, positions int, dtype torch.DType) models.Config {
	return models.Config{DType: dtype, Settings: models.Settings{
		Width:                  width,
		AttentionSettings:      models.AttentionSettings{FFNWidth: ffn, Heads: heads},
		EncoderDecoderSettings: models.EncoderDecoderSettings{EncoderLayers: encoder, DecoderLayers: decoder},
		LayerSettings:          models.LayerSettings{MaxPositions: positions},
	}}
}

// load reads a model of package models' goldens and multiplies its output
// matrix, so that its choices are clear.
func load(t testing.TB, name string, dtype torch.DType, sharpen float64) *fixture {
	t.Helper()
	const folder = "../testdata/transformer_"
	_, meta, err := torch.ReadSafetensors(folder+name+".safetensors", device)
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		D, FFN, Heads               int
		Encoder_layers              int
		Decoder_layers              int
		Source_vocab, Target_vocab  int64
		Max_positions               int
		Pre_norm, Learned_positions bool
		Tie                         string
	}
	if err := json.Unmarshal([]byte(meta["config"]), &c); err != nil {
		t.Fatal(err)
	}
	config := transformer(c.Encoder_layers, c.Decoder_layers, c.D, c.FFN, c.Heads, c.Max_positions, dtype)
	if config.PreNorm = c.Pre_norm; c.Learned_positions {
		config.Positions = "learned"
	}
	f := build(t, config, c.Source_vocab, c.Target_vocab, c.Tie)
	trained, _, err := torch.ReadSafetensors(folder+name+"_trained.safetensors", device)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.params.Load(trained); err != nil {
		t.Fatal(err)
	}
	sharp := f.output.Detach().MulScalar(sharpen)
	torch.Keep(sharp)
	f.output = sharp
	return f
}

// build makes a model with fresh weights; tie is "all", "decoder" or "none".
func build(t testing.TB, c models.Config, sourceWords, targetWords int64, tie string) *fixture {
	t.Helper()
	p, s := &torch.Params{}, torch.NewStream(1, "init")
	table := func(name string, words int64) *objectives.Dense {
		e, err := objectives.NewTable(objectives.Config{
			Vocabulary: words, Width: int64(c.Width), Padding: tokenize.Pad, Params: p, Embedding: name, Stream: s,
			Device: device, DType: c.DType,
		})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	output := "decoder.embed_tokens"
	target := table(output, targetWords)
	source := target
	if tie != "all" {
		source = table("encoder.embed_tokens", sourceWords)
	}
	if tie == "none" {
		output = "decoder.output_projection"
		table(output, targetWords)
	}
	m, err := models.NewTransformer(c, source, target, p, s, device)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{m, p, p.Get(output + ".weight"), int(sourceWords)}
}

func (f *fixture) free() {
	f.model.Free()
	f.params.Free()
	torch.Free(f.output)
}

func (f *fixture) scorer() decode.Softmax { return decode.Softmax{Weight: f.output} }

// plain is the model and its scorer without fused operators.
type plain struct{ *models.Transformer }

func (p plain) Decoder() models.Decoder { return p.UnfusedDecoder() }

type plainScorer struct{ softmax decode.Softmax }

func (p plainScorer) LogProbs(hidden torch.Tensor) torch.Tensor { return p.softmax.LogProbs(hidden) }

// sources draws sentences of up to longest words, one of them empty.
func sources(f *fixture, count, longest int) [][]int32 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([][]int32, count)
	for i := range out {
		if i == count/2 {
			continue
		}
		for range 1 + r.IntN(longest) {
			out[i] = append(out[i], int32(3+r.IntN(f.words-3)))
		}
	}
	return out
}

func must(t testing.TB, model decode.Model, scorer decode.Scorer, s [][]int32, o decode.Options) [][]decode.Hypothesis {
	t.Helper()
	out, err := decode.Search(context.Background(), model, scorer, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eachModel runs a test on the small models in float32.
func eachModel(t *testing.T, test func(t *testing.T, f *fixture)) {
	for _, name := range []string{"postnorm_tied", "prenorm_learned", "postnorm_separate"} {
		t.Run(name, func(t *testing.T) {
			torch.Test(t, func() {
				f := load(t, name, torch.Float32, 4)
				defer f.free()
				test(t, f)
			})
		})
	}
}

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("the error is %v, want one about %q", err, part)
	}
}
