package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// read makes a model of the best checkpoint of a run, averaged where that has an average: the weights that
// runs/translate uses.
func read(ctx context.Context, folder string) (*exchange.Model, translation.Settings, []checkpoint.Warning, error) {
	var s translation.Settings
	if err := checkKind(folder); err != nil {
		return nil, s, nil, err
	}
	t, err := translation.Open(folder, translation.Options{Device: "cpu"})
	if err != nil {
		return nil, s, nil, err
	}
	defer t.Close()
	s = t.Settings
	m := &exchange.Model{
		Network: exchange.Network{
			Width: s.Model.Width, FFNWidth: s.Model.FFNWidth, Heads: s.Model.Heads,
			EncoderLayers: s.Model.EncoderLayers, DecoderLayers: s.Model.DecoderLayers,
			MaxPositions: s.Model.MaxPositions, PreNorm: s.Model.PreNorm,
			Activation: s.Model.Activation, Epsilon: s.Model.NormEpsilon, ZeroStart: s.Model.ZeroStart,
			Dropout: s.Model.Dropout, Attention: s.Model.AttentionDropout, Activations: s.Model.ActivationDropout,
		},
		Text:   s.Text,
		Source: tokens(t.Text.Source.Vocabulary), Target: tokens(t.Text.Target.Vocabulary),
		Search: exchange.Search{Beam: s.Decode.Beam, LengthPenalty: s.Decode.Lenpen,
			A: s.Decode.MaxLengthA, B: s.Decode.MaxLengthB, MinLength: s.Decode.MinLength,
			NoRepeatNgram: s.Decode.NoRepeatNgram, NoUnk: s.Decode.NoUnk, Stop: s.Decode.Stop},
	}
	if s.Model.FairseqPositions() {
		m.Positions = exchange.FairseqPositions
	}
	if err := readCodes(m, folder); err != nil {
		return nil, s, t.Warnings, err
	}
	if m.Card, err = card(folder, s.Objective.Method, t.Params.Count()); err != nil {
		return nil, s, t.Warnings, err
	}
	return m, s, t.Warnings, t.Queue(ctx, func() error { return weights(m, t) })
}

// leftOut names the settings of a run's search that programs of a format do not have, so that they translate otherwise.
// Argos Translate has a search of its own.
func leftOut(s translation.Settings, format string) (notes []string) {
	for key, given := range map[string]bool{
		`decode.length_penalty = "gnmt"`: s.Decode.LengthPenalty == "gnmt" && s.Decode.Lenpen != 0,
		`decode.postprocess = "paper"`:   s.Decode.Postprocess == "paper",
		"decode.replace_unk":             s.Decode.Alignment, // CTranslate2's replace_unknowns writes pieces of words
	} {
		if given && format != "argos" {
			notes = append(notes, key)
		}
	}
	slices.Sort(notes)
	return notes
}

// checkKind refuses networks that no format holds, before any weight is read.
func checkKind(folder string) error {
	kind, err := kindOf(folder)
	switch {
	case err != nil:
		return err
	case kind == "" || kind == "transformer":
		return nil // whatever else is wrong with the keys, Open says
	case slices.Contains(translation.Kinds(), kind):
		return fmt.Errorf("%s has model.kind = %q, and neither CTranslate2 nor transformers has such a recurrent "+
			"network: train with model.kind = \"transformer\"", folder, kind)
	}
	return fmt.Errorf("%s holds a language model, model.kind = %q, whose network no format has: export a gpt, or a "+
		"translator with model.kind = \"transformer\"", folder, kind)
}

// kindOf is a run's model.kind, empty where its configuration has none.
func kindOf(folder string) (string, error) {
	tree, err := keys.ReadFolder(folder)
	kind, _ := tree.Section("model")["kind"].(string)
	return kind, err
}

// weights gives the model its tensors, on the torch thread.
func weights(m *exchange.Model, t *translation.Translator) error {
	var err error
	if m.Tensors, err = tensors(t.Params, t.Output, t.Settings.Objective.Method); err != nil {
		return err
	}
	first, width := tokenize.Pad+1, m.Width
	for _, name := range []string{"encoder.embed_positions.weight", "decoder.embed_positions.weight"} {
		table, learned := m.Tensors[name]
		if !learned {
			for _, x := range t.Settings.Model.PositionTable() {
				table.Values = append(table.Values, float32(x))
			}
		}
		m.Tensors[name] = exchange.Tensor{Shape: []int{m.MaxPositions, width}, Values: table.Values[first*width:]}
	}
	return nil
}

// tensors are the weights by name, with the output layer's matrix as one.
func tensors(p *torch.Params, o *objectives.Output, method string) (map[string]exchange.Tensor, error) {
	if _, _, ok := o.SoftmaxHead(); !ok {
		return nil, fmt.Errorf("this run has objective.method = %q, and the formats hold one softmax over the whole "+
			"vocabulary, of plain scores: train with another method; docs/export.md names those that no format holds",
			method)
	}
	scope := torch.OpenScope()
	defer scope.Close()
	values := p.Map()
	o.Simplify(values)
	all := make(map[string]exchange.Tensor, len(values)+2)
	for name, x := range values {
		shape := make([]int, 0, x.Rank())
		for _, n := range x.Shape() {
			shape = append(shape, int(n))
		}
		all[name] = exchange.Tensor{Shape: shape, Values: x.Float32s()}
	}
	return all, nil
}

func tokens(v *tokenize.Vocabulary) []string {
	all := make([]string, v.Len())
	for i := range all {
		all[i] = v.Token(int32(i))
	}
	return all
}

// readCodes reads what the run splits text with.
func readCodes(m *exchange.Model, folder string) error {
	for name, data := range map[string]*[]byte{"codes." + m.Text.Source: &m.Codes, "units." + m.Text.Source: &m.Units,
		"sentencepiece." + m.Text.Source: &m.SentencePiece[0], "sentencepiece." + m.Text.Target: &m.SentencePiece[1]} {
		var err error
		*data, err = os.ReadFile(filepath.Join(folder, bitext.TokenizerFolder, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// card is what a model card says of the run; without results.json, which only a finished run has, no scores.
func card(folder, method string, params int64) (exchange.Card, error) {
	c := exchange.Card{Method: method, Params: params}
	r, err := record.Read(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.Run, c.Preset, c.Seed, c.Updates, c.Data, c.SHA256 = r.Run, r.Preset, r.Seed, r.Updates, r.Data.Name,
		r.Data.SHA256
	for _, text := range slices.Sorted(maps.Keys(r.Test)) {
		scores := r.Test[text]
		for _, s := range []exchange.Score{
			{Text: text, Metric: "BLEU (" + string(scores.BLEUSignature) + ")", Value: scores.BLEU.Value()},
			{Text: text, Metric: "chrF", Value: scores.ChrF.Value()},
			{Text: text, Metric: "perplexity", Value: scores.PPL.Value()},
			{Text: text, Metric: "perplexity a word", Value: scores.PPLWord.Value()},
		} {
			if !math.IsNaN(s.Value) { // else it is undefined
				c.Scores = append(c.Scores, s)
			}
		}
	}
	return c, nil
}
