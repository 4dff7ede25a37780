package language

import (
	"errors"
	"fmt"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// Model is a language model with its vocabulary. Score, Predict, Sample and Close may be called from any goroutine,
// several at once; the fields, and what else there is, are for training and evaluation, on the torch thread.
type Model struct {
	Settings Settings
	Words    *corpus.Words
	Params   *torch.Params
	Network  models.LanguageModel
	Output   *objectives.Output
	Device   torch.Device
	Warnings []checkpoint.Warning // what Open found damaged, and took another checkpoint for

	models.Session
	kind kind
}

// Options say on what a model computes. The zero value is good.
type Options = models.Options

// Open reads the model of a run folder: the best checkpoint, with averaged weights where it has them.
func Open(folder string, o Options) (*Model, error) {
	return models.Open(o, func(device torch.Device) (*Model, error) { return Load(folder, device) })
}

// Load is Open on the torch thread, for a device that is known.
func Load(folder string, device torch.Device) (*Model, error) {
	s, err := ReadSettings(folder)
	if err != nil {
		return nil, err
	}
	if _, err := s.kind(); err != nil {
		return nil, fmt.Errorf("%s holds no language model: %w", folder, err)
	}
	words, err := ReadWords(folder)
	if err != nil {
		return nil, err
	}
	var m *Model
	warnings, err := models.LoadBest(folder, func(params *torch.Params) (err error) {
		m, err = build(s, words, device, params, initialStream(s).Unset())
		return err
	})
	if err != nil {
		if m != nil {
			m.Free()
		}
		return nil, err
	}
	m.Warnings = warnings
	return m, nil
}

// Close gives back what the model holds. Calls that wait for their turn, and later ones, get [models.ErrClosed].
func (m *Model) Close() error { return m.CloseWith(m.Free) }

// New builds a model with fresh weights, drawn from the stream of that name.
func New(s Settings, words *corpus.Words, device torch.Device) (*Model, error) {
	return build(s, words, device, &torch.Params{}, initialStream(s))
}

func initialStream(s Settings) *torch.Stream { return torch.NewStream(s.Seed, "init") }

func build(s Settings, words *corpus.Words, device torch.Device, params *torch.Params, initial *torch.Stream) (*Model,
	error) {
	k, err := s.kind()
	if err != nil {
		return nil, err
	}
	m := &Model{Settings: s, Words: words, Params: params, Device: device, kind: k}
	if err := torch.Try(func() error { return m.build(initial) }); err != nil {
		m.Free()
		return nil, err
	}
	return m, nil
}

func (m *Model) build(initial *torch.Stream) error {
	s := m.Settings
	scope := torch.OpenScope()
	defer scope.Close()
	c := objectives.Config{
		Vocabulary: int64(m.Words.Len()), Width: int64(s.Model.Width), Padding: -1, Hidden: int64(s.Model.LastHidden),
		SGD:    s.SGD,
		Params: m.Params, Embedding: "encoder", Output: "decoder", Stream: initial,
		Device: m.Device,
	}
	m.kind.start(&c)
	var input models.Embedder
	if s.Model.Tying == "none" {
		table, err := objectives.NewTable(c)
		if err != nil {
			return err
		}
		input, c.Embedding, c.OutputOnly = table, "decoder", true
	}
	var err error
	var widths *objectives.WidthError
	if m.Output, err = objectives.New(s.Objective, c); errors.As(err, &widths) {
		return fmt.Errorf("%w, or set model.last_hidden = 0", err)
	}
	if err != nil {
		return err
	}
	if input == nil {
		input = m.Output
	}
	m.Network, err = m.kind.make(models.Config{
		Settings: s.Model, ActivationSettings: s.Train.ActivationSettings, Vocabulary: c.Vocabulary,
		DType: torch.Float32,
	}, input, m.Params, c.Stream, m.Device)
	return err
}

// ContextNetwork is a network whose view of the past may be changed between chunks.
type ContextNetwork interface {
	SetContext(c models.XLContext) error
}

// SetContext changes what a Transformer-XL sees of the past, and the length of the
// chunks in which texts are scored; other networks have nothing to change.
func (m *Model) SetContext(c models.XLContext, rows int) error {
	network, ok := m.Network.(ContextNetwork)
	if !ok {
		return fmt.Errorf("model.kind = %q has no memory to change: only transformer-xl has", m.Settings.Model.Kind)
	}
	if err := network.SetContext(c); err != nil {
		return err
	}
	m.Settings.Model.XLContext, m.Settings.Train.BPTT = c, rows
	return nil
}

// SetStride changes how many of a window's tokens are scored, where the network reads texts in windows.
func (m *Model) SetStride(tokens int) error {
	s := m.Settings
	s.Train.Stride = tokens
	if err := s.Check(); err != nil {
		return err
	}
	m.Settings = s
	return nil
}

// Free frees the weights.
func (m *Model) Free() {
	if f, ok := m.Network.(interface{ Free() }); ok {
		f.Free()
	}
	if m.Output != nil {
		m.Output.Free()
	}
	m.Params.Free()
}

// simplified is a copy of the model whose training loss is the clean one, without smoothing and
// perturbation, and whose word vectors are one matrix. It predicts alike.
func (m *Model) simplified() (*Model, error) {
	s := m.Settings
	s.Objective = s.Objective.Simplified()
	p, err := New(s, m.Words, m.Device)
	if err != nil {
		return nil, err
	}
	whole := false
	defer func() {
		if !whole {
			p.Free()
		}
	}()
	scope := torch.OpenScope()
	defer scope.Close()
	values := m.Params.Map()
	m.Output.Simplify(values)
	if err := p.Params.Load(values); err != nil {
		return nil, err
	}
	whole = true
	return p, nil
}
