package main

import (
	"io"
	"maps"
	"math"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// write fills a run folder: configuration, tokenizer, and one checkpoint, which is the best one. Opening it shows that
// all is there.
func write(folder string, m *exchange.Model) error {
	c := configuration(m)
	s := c.Translation()
	if err := s.Check(); err != nil {
		return err
	}
	tokenizer := filepath.Join(folder, bitext.TokenizerFolder)
	source := bitext.Given{Tokens: m.Source, Codes: m.Codes, SentencePiece: m.SentencePiece[0]}
	target := bitext.Given{Tokens: m.Target, Codes: m.Codes, SentencePiece: m.SentencePiece[1]}
	if s.Text.TargetUnits != "bpe" {
		target.Codes = nil
	}
	if err := bitext.SaveGiven(s.Text, source, target, tokenizer); err != nil {
		return err
	}
	if err := finish(folder, c, placed(c.Model.Positions, m)); err != nil {
		return err
	}
	t, err := translation.Load(folder, torch.CPU)
	if err == nil {
		t.Free()
	}
	return err
}

// configuration says what the model is, in keys of an experiment.
func configuration(m *exchange.Model) experiment.Config {
	c := experiment.Default()
	c.Run, c.Preset, c.Data.TextSettings = "own", experiment.Imported, m.Text
	x := &c.Model
	x.Kind, x.Width, x.FFNWidth, x.Heads = "transformer", m.Width, m.FFNWidth, m.Heads
	x.EncoderLayers, x.DecoderLayers, x.MaxPositions = m.EncoderLayers, m.DecoderLayers, m.MaxPositions
	x.PreNorm, x.Activation, x.NormEpsilon, x.ZeroStart = m.PreNorm, m.Activation, m.Epsilon, m.ZeroStart
	x.Dropout, x.AttentionDropout, x.ActivationDropout = m.Dropout, m.Attention, m.Activations
	x.Tying = "all"
	if m.Tensors["decoder.output_projection.weight"].Values != nil {
		x.Tying = "none"
	} else if m.Tensors["encoder.embed_tokens.weight"].Values != nil {
		x.Tying = "decoder"
	}
	place(x, m)
	c.Objective.Set("bias", m.Tensors["decoder.output_projection.bias"].Values != nil)
	o := &c.Decode.Options
	o.Beam, o.Lenpen, o.MaxLengthA, o.MaxLengthB = m.Search.Beam, m.Search.LengthPenalty, m.Search.A, m.Search.B
	o.MinLength, o.NoRepeatNgram = m.Search.MinLength, m.Search.NoRepeatNgram
	o.NoUnk = m.Search.NoUnk
	if m.Search.Stop != "" {
		o.Stop = m.Search.Stop
	}
	return c
}

// place chooses the positions: sinusoids that have a name or are in the model's tables, or else these tables as learned
// vectors.
func place(x *models.Settings, m *exchange.Model) {
	x.Positions = "sinusoidal"
	for _, kind := range []exchange.Positions{exchange.FairseqPositions, exchange.MarianPositions,
		exchange.VaswaniPositions} {
		x.PositionOffset, x.Sinusoids = -(tokenize.Pad + 1), "tensor2tensor"
		switch kind {
		case exchange.FairseqPositions:
			x.PositionOffset = 0
		case exchange.VaswaniPositions:
			x.Sinusoids = "paper"
		}
		if m.Positions == kind || m.Positions == exchange.Table && hasTable(*x, m) {
			return
		}
	}
	x.Positions, x.PositionOffset, x.Sinusoids = "learned", 0, "tensor2tensor"
}

// hasTable reports whether both tables of a model are those of settings, rounded to float32.
func hasTable(x models.Settings, m *exchange.Model) bool {
	if x.Width%2 != 0 {
		return false
	}
	want := x.PositionTable()[(tokenize.Pad+1)*x.Width:]
	for _, side := range []string{"encoder", "decoder"} {
		for i, v := range m.Tensors[side+".embed_positions.weight"].Values {
			if math.Abs(want[i]-float64(v)) > 1e-6 {
				return false
			}
		}
	}
	return true
}

// placed are a model's weights as a run has them: position vectors are learned ones or none, and learned ones begin
// behind the rows that no symbol has.
func placed(positions string, m *exchange.Model) map[string]exchange.Tensor {
	weights := maps.Clone(m.Tensors)
	for _, name := range []string{"encoder.embed_positions.weight", "decoder.embed_positions.weight"} {
		t, found := weights[name]
		delete(weights, name)
		if found && positions == "learned" {
			before := (tokenize.Pad + 1) * m.Width
			weights[name] = exchange.Tensor{Shape: []int{t.Shape[0] + tokenize.Pad + 1, m.Width},
				Values: append(make([]float32, before, before+len(t.Values)), t.Values...)}
		}
	}
	return weights
}

// finish fills the rest of a run folder whose text is there: one checkpoint, of no update, which is the best one, and
// the configuration.
func finish(folder string, c experiment.Config, weights map[string]exchange.Tensor) error {
	scope := torch.OpenScope()
	defer scope.Close()
	values := map[string]torch.Tensor{}
	for name, t := range weights {
		shape := make([]int64, len(t.Shape))
		for i, n := range t.Shape {
			shape[i] = int64(n)
		}
		values[name] = torch.FromFloat32s(t.Values, torch.CPU, shape...)
	}
	store := checkpoint.Store{Dir: filepath.Join(folder, checkpoint.Folder)}
	err := store.Save(0, []checkpoint.File{{Name: checkpoint.ModelFile, Write: func(w io.Writer) error {
		return torch.WriteSafetensors(w, values, map[string]string{"format": "pt", "step": "0"})
	}}}, c.Kept())
	if err == nil {
		err = store.MarkBest(0)
	}
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(folder, keys.File), []byte(c.TOML()))
}
