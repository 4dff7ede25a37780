package main

import (
	"fmt"

	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// readGPT reads a folder of GPT-2.
func readGPT(f *flags) (foreign, error) {
	m, err := exchange.ReadGPT2(f.From)
	if err != nil {
		return foreign{}, err
	}
	return foreign{
		write: func(folder string) error { return writeGPT(folder, m) },
		notes: m.Notes,
		what:  fmt.Sprintf("a language model of %d layers of width %d and %d pieces", m.Layers, m.Width, m.Vocabulary),
	}, nil
}

// writeGPT fills a run folder: configuration, pieces, and one checkpoint, which is the best one. Opening it shows that
// all is there.
func writeGPT(folder string, m *exchange.GPT2) error {
	c := gptConfiguration(m)
	if err := c.Language().Check(); err != nil {
		return err
	}
	if err := language.SaveWords(corpus.NewPieces(m.Pieces), folder); err != nil {
		return err
	}
	if err := finish(folder, c, m.Tensors); err != nil {
		return err
	}
	opened, err := language.Load(folder, torch.CPU)
	if err == nil {
		opened.Free()
	}
	return err
}

// gptConfiguration says what the model is, in keys of an experiment.
func gptConfiguration(m *exchange.GPT2) experiment.Config {
	c := experiment.Default()
	c.Run, c.Preset, c.Data.Units, c.Data.Sample = "wikitext103", experiment.Imported, "bytes-bpe", true
	x := &c.Model
	x.Kind, x.Width, x.FFNWidth, x.Heads, x.Layers = "gpt", m.Width, m.FFNWidth, m.Heads, m.Layers
	x.MaxPositions, x.Positions, x.Activation, x.NormEpsilon = m.MaxPositions, "learned", m.Activation, m.Epsilon
	x.Dropout, x.AttentionDropout, x.Tying = m.Dropout, m.Attention, "all"
	if m.Tensors["decoder.weight"].Values != nil {
		x.Tying = "none"
	}
	c.Objective.Set("label_smoothing", 0, "bias", false)
	c.Train.BPTT, c.Train.Random = m.MaxPositions, false
	return c
}
