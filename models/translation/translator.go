package translation

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// Translator is a trained network with what it reads and writes. Translate, TranslateNBest, TranslateRequests,
// Glossary, Force and Close may be called from any goroutine, several at once; the fields, and what else there is, are
// for training, on the torch thread.
type Translator struct {
	Settings Settings
	Text     *bitext.Sides
	Params   *torch.Params
	Network  models.Translator
	Output   *objectives.Output
	Device   torch.Device
	Warnings []checkpoint.Warning // what Open found damaged, and took another checkpoint for

	models.Session
	opened   bool             // by Open: the weights stay as they are
	prepared *decode.Searcher // the weights, laid out for search; kept between calls where they stay
	// preparedInt8 says that they have eight bits.
	preparedInt8 bool
}

// Options say on what a translator computes. The zero value is good.
type Options = models.Options

// Open reads the translator of a run folder: the best checkpoint, with averaged weights where it has them.
func Open(folder string, o Options) (*Translator, error) {
	return models.Open(o, func(device torch.Device) (*Translator, error) {
		t, err := Load(folder, device)
		if err == nil {
			t.opened = true
		}
		return t, err
	})
}

// Load is Open on the torch thread, for a device that is known.
func Load(folder string, device torch.Device) (*Translator, error) {
	s, err := ReadSettings(folder)
	if err != nil {
		return nil, err
	}
	if _, err := s.kind(); err != nil {
		return nil, fmt.Errorf("%s holds no translator: %w", folder, err)
	}
	pair, err := OpenText(s, filepath.Join(folder, bitext.TokenizerFolder))
	if err != nil {
		return nil, err
	}
	var t *Translator
	warnings, err := models.LoadBest(folder, func(params *torch.Params) (err error) {
		t, err = build(s, pair, device, params, initialStream(s).Unset())
		return err
	})
	if err != nil {
		if t != nil {
			t.Free()
		}
		return nil, err
	}
	t.Warnings = warnings
	return t, nil
}

// Close gives back what the translator holds. Calls that wait for their turn, and later ones, get [models.ErrClosed].
func (t *Translator) Close() error { return t.CloseWith(t.Free) }

// New builds a translator with fresh weights, drawn from the stream of that name.
func New(s Settings, pair *bitext.Sides, device torch.Device) (*Translator, error) {
	return build(s, pair, device, &torch.Params{}, initialStream(s))
}

func initialStream(s Settings) *torch.Stream { return torch.NewStream(s.Seed, "init") }

func build(s Settings, pair *bitext.Sides, device torch.Device, params *torch.Params, initial *torch.Stream) (*Translator,
	error) {
	k, err := s.kind()
	if err != nil {
		return nil, err
	}
	if s.Model.Tying == "all" && pair.Source.Vocabulary != pair.Target.Vocabulary {
		return nil, fmt.Errorf("model.tying = \"all\" needs one vocabulary for both languages: set data.joint = true, " +
			"or model.tying = \"decoder\"")
	}
	t := &Translator{Settings: s, Text: pair, Params: params, Device: device}
	if err := torch.Try(func() error { return t.build(k, initial) }); err != nil {
		t.Free()
		return nil, err
	}
	return t, nil
}

func (t *Translator) build(k kind, initial *torch.Stream) error {
	s, pair := t.Settings, t.Text
	scope := torch.OpenScope()
	defer scope.Close()
	c := objectives.Config{
		Width: int64(s.Model.Width), Hidden: int64(s.Model.Width), Padding: tokenize.Pad, SGD: s.SGD,
		Params: t.Params, Stream: initial, Device: t.Device,
	}
	if k.start != nil {
		k.start(s.Model, &c)
	}
	if err := t.buildOutput(c); err != nil {
		return err
	}
	// table is the input of a side where tied says so, or else one of its own.
	table := func(tied bool, side string, vocabulary int) (models.Embedder, error) {
		if tied {
			return t.Output, nil
		}
		c := c
		c.Vocabulary, c.Embedding = int64(vocabulary), side+".embed_tokens"
		return objectives.NewTable(c)
	}
	target, err := table(s.Model.Tying != "none", "decoder", pair.Target.Vocabulary.Len())
	if err != nil {
		return err
	}
	source, err := table(s.Model.Tying == "all", "encoder", pair.Source.Vocabulary.Len())
	if err != nil {
		return err
	}
	network, err := k.make(models.Config{Settings: s.Model, DType: torch.Float32}, source, target, t.Params, c.Stream,
		t.Device)
	if err != nil {
		return err // network is an interface around a nil pointer then, which Free would call
	}
	t.Network = network
	return nil
}

// buildOutput makes the output layer; its matrix serves the inputs that are tied to it, and is as wide as word vectors
// then.
func (t *Translator) buildOutput(c objectives.Config) (err error) {
	c.Vocabulary, c.Embedding, c.Output = int64(t.Text.Target.Vocabulary.Len()), "decoder.embed_tokens",
		"decoder.output_projection"
	c.Specials = tokenize.Unk + 1 // the first four of every vocabulary
	if t.Settings.Model.Tying == "none" {
		c.Embedding, c.OutputOnly, c.Width = c.Output, true, c.Hidden
	}
	if t.Text.Vectors != nil {
		c.Vectors = vectorsTensor(t.Text.Vectors)
	}
	t.Output, err = objectives.New(t.Settings.Objective, c)
	var widths *objectives.WidthError
	if errors.As(err, &widths) {
		return fmt.Errorf("%w, or set model.word_width = 0 or model.tying = \"none\"", err)
	}
	return err
}

// Free frees the weights.
func (t *Translator) Free() {
	t.forget()
	if t.Network != nil {
		t.Network.Free()
	}
	if t.Output != nil {
		t.Output.Free()
	}
	t.Params.Free()
}
