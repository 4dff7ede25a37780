package translator

import (
	"fmt"
	"path/filepath"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/output"
	"github.com/aperture-ml/aperture/runs/internal/text"
	"github.com/aperture-ml/aperture/runs/internal/weights"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// Translator is a model with what it reads and writes.
type Translator struct {
	Config experiment.Config
	Text   *text.Pair
	Params *torch.Params
	Model  *models.Transformer
	Output *objectives.Output
	Device torch.Device
}

// New builds the model of a configuration with fresh weights, drawn from the
// stream of that name.
func New(c experiment.Config, pair *text.Pair, device torch.Device) (*Translator, error) {
	if c.Model.Tying == "all" && pair.Source.Vocabulary != pair.Target.Vocabulary {
		return nil, fmt.Errorf("model.tying = \"all\" needs one vocabulary for both languages: set data.joint = true, or model.tying = \"decoder\"")
	}
	t := &Translator{Config: c, Text: pair, Params: &torch.Params{}, Device: device}
	if err := t.build(); err != nil {
		t.Free()
		return nil, err
	}
	return t, nil
}

func (t *Translator) build() error {
	c, pair := t.Config, t.Text
	scope := torch.OpenScope()
	defer scope.Close()
	stream := torch.NewStream(uint64(c.Train.Seed), "init")
	if err := t.buildOutput(stream); err != nil {
		return err
	}
	// table is the input of a side where tied says so, or else one of its own.
	table := func(tied bool, side string, vocabulary int) (models.Embedder, error) {
		if tied {
			return t.Output, nil
		}
		return objectives.NewTable(objectives.Place{
			Vocabulary: int64(vocabulary), Width: int64(c.Model.Width), Padding: models.PadID,
			Params: t.Params, Embedding: side + ".embed_tokens", Stream: stream, Device: t.Device,
		})
	}
	target, err := table(c.Model.Tying != "none", "decoder", pair.Target.Vocabulary.Len())
	if err != nil {
		return err
	}
	source, err := table(c.Model.Tying == "all", "encoder", pair.Source.Vocabulary.Len())
	if err != nil {
		return err
	}
	t.Model, err = models.NewTransformer(models.TransformerConfig{
		EncoderLayers: c.Model.EncoderLayers, DecoderLayers: c.Model.DecoderLayers,
		Width: c.Model.Width, FFNWidth: c.Model.FFNWidth, Heads: c.Model.Heads,
		Dropout: c.Model.Dropout, AttentionDropout: c.Model.AttentionDropout, ActivationDropout: c.Model.ActivationDropout,
		PreNorm: c.Model.PreNorm, LearnedPositions: c.Model.Positions == "learned", MaxPositions: c.Model.MaxPositions,
		Glorot: c.Model.Initialisation == "glorot", DType: torch.Float32,
	}, source, target, t.Params, stream, t.Device)
	return err
}

// Free frees the weights.
func (t *Translator) Free() {
	if t.Model != nil {
		t.Model.Free()
	}
	if t.Output != nil {
		t.Output.Free()
	}
	t.Params.Free()
}

// Open reads the model of a run folder: the best checkpoint, with averaged
// weights where it has them.
func Open(folder string, device torch.Device) (*Translator, []checkpoint.Warning, error) {
	c, err := experiment.ReadConfig(folder)
	if err != nil {
		return nil, nil, err
	}
	if c.Task() != experiment.Translation {
		return nil, nil, fmt.Errorf("%s holds a language model, not a translator", folder)
	}
	pair, err := OpenText(c, filepath.Join(folder, experiment.TokenizerDir))
	if err != nil {
		return nil, nil, err
	}
	t, err := New(c, pair, device)
	if err != nil {
		return nil, nil, err
	}
	warnings, err := weights.LoadBest(t.Params, folder, device)
	if err != nil {
		t.Free()
		return nil, warnings, err
	}
	return t, warnings, nil
}

// buildOutput makes the output layer; its matrix serves the inputs that are tied to it.
func (t *Translator) buildOutput(stream *torch.Stream) error {
	c, embedding := t.Config, "decoder.embed_tokens"
	if c.Model.Tying == "none" {
		embedding = "decoder.output_projection"
	}
	var vectors torch.Tensor
	if t.Text.Vectors != nil {
		vectors = t.Text.Vectors.Tensor()
	}
	var err error
	t.Output, err = objectives.New(output.Settings(c), objectives.Place{
		Vocabulary: int64(t.Text.Target.Vocabulary.Len()), Width: int64(c.Model.Width), Padding: models.PadID,
		Vectors: vectors, OutputOnly: c.Model.Tying == "none", Params: t.Params, Embedding: embedding, Output: "decoder.output_projection", Stream: stream, Device: t.Device,
	})
	return err
}

// OutputStates are a model's states as the output layer takes them.
func OutputStates(s models.States, columns int) objectives.States {
	out := objectives.States{Hidden: s.Hidden, Columns: int64(columns), Time: make([]int64, len(s.Rows)), Column: make([]int64, len(s.Rows))}
	for n, place := range s.Rows {
		out.Column[n], out.Time[n] = place/int64(s.Width), place%int64(s.Width)
	}
	return out
}
