package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// importGPT makes a run folder of a folder of GPT-2, on the torch thread; log takes notes and what was done.
func importGPT(f *flags, log io.Writer) error {
	m, err := exchange.ReadGPT2(f.From)
	if err != nil {
		return err
	}
	if err := files.WriteFolder(f.To, func(folder string) error { return writeGPT(folder, m) }); err != nil {
		return err
	}
	for _, note := range m.Notes {
		fmt.Fprintf(log, "import: %s\n", note)
	}
	fmt.Fprintf(log, "wrote %s: a language model of %d layers of width %d and %d pieces\n", f.To, m.Layers, m.Width,
		m.Vocabulary)
	return nil
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
	if err := saveGPT(folder, c, m); err != nil {
		return err
	}
	if err := files.Write(filepath.Join(folder, keys.File), []byte(c.TOML())); err != nil {
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
	c.Run, c.Preset, c.Data.Units, c.Data.Sample = "wikitext103", "imported", "bytes-bpe", true
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

// saveGPT keeps a model's weights as the checkpoint of no update.
func saveGPT(folder string, c experiment.Config, m *exchange.GPT2) error {
	scope := torch.OpenScope()
	defer scope.Close()
	values := map[string]torch.Tensor{}
	for name, t := range m.Tensors {
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
	if err != nil {
		return err
	}
	return store.MarkBest(0)
}
