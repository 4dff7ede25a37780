package main

import (
	"context"
	"fmt"
	"io"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/tokenize"
)

// exportGPT exports a language model of GPT-2's form; log takes warnings and what was done.
func exportGPT(ctx context.Context, f *flags, o exchange.Options, log io.Writer) error {
	if f.To != "hf" {
		return fmt.Errorf("%s holds a language model, and %s takes translators here: export with -to hf", f.Run, f.To)
	}
	m, err := readGPT(ctx, f.Run, log)
	if err != nil {
		return err
	}
	err = files.WriteFolder(f.Out, func(folder string) error { return exchange.WriteGPT2(folder, m, o) })
	if err := advised(err, f.To); err != nil {
		return err
	}
	fmt.Fprintf(log, "wrote %s\n", f.Out)
	return nil
}

// readGPT makes a model of the best checkpoint of a run, averaged where that has an average.
func readGPT(ctx context.Context, folder string, log io.Writer) (*exchange.GPT2, error) {
	t, err := language.Open(folder, language.Options{Device: "cpu"})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	for _, w := range t.Warnings {
		fmt.Fprintln(log, w)
	}
	s := t.Settings.Model
	if s.Positions == "rotary" {
		return nil, fmt.Errorf("GPT-2 adds position vectors, and %s has model.positions = \"rotary\": train with learned "+
			"ones", folder)
	}
	m := &exchange.GPT2{Width: s.Width, FFNWidth: s.FFNWidth, Heads: s.Heads, Layers: s.Layers,
		MaxPositions: s.MaxPositions, Activation: s.Activation, Epsilon: s.NormEpsilon, Dropout: s.Dropout,
		Attention: s.AttentionDropout, Vocabulary: t.Words.Len(), Pieces: t.Words.Pieces()}
	if m.Pieces == nil {
		for i := range t.Words.Len() {
			m.Words = append(m.Words, t.Words.Word(int32(i)))
		}
	}
	if m.Card, err = card(folder, t.Settings.Objective.Method, t.Params.Count()); err != nil {
		return nil, err
	}
	err = t.Queue(ctx, func() (err error) {
		m.Tensors, err = tensors(t.Params, t.Output, t.Settings.Objective.Method)
		return err
	})
	if err == nil && s.Positions == "sinusoidal" {
		table := exchange.Tensor{Shape: []int{s.MaxPositions, s.Width}}
		for _, x := range s.PositionTable()[(tokenize.Pad+1)*s.Width:] {
			table.Values = append(table.Values, float32(x))
		}
		m.Tensors["embed_positions.weight"] = table
	}
	return m, err
}
