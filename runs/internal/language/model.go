package language

import (
	"fmt"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/output"
	"github.com/aperture-ml/aperture/runs/internal/weights"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// Model is a language model with its vocabulary.
type Model struct {
	Config  experiment.Config
	Words   *corpus.Words
	Params  *torch.Params
	Network models.LanguageModel
	Output  *objectives.Output
	Device  torch.Device

	noise *models.Noise         // of a recurrent network, or nil
	xl    *models.TransformerXL // or nil
}

// New builds the model of a configuration with fresh weights, drawn from the
// stream of that name.
func New(c experiment.Config, words *corpus.Words, device torch.Device) (*Model, error) {
	m := &Model{Config: c, Words: words, Params: &torch.Params{}, Device: device}
	if err := m.build(); err != nil {
		m.Free()
		return nil, err
	}
	return m, nil
}

// How word vectors start: those of AWD-LSTM between -uniform and uniform, those of
// Transformer-XL normal.
const uniform, deviation = 0.1, 0.02

func (m *Model) build() error {
	c := m.Config
	scope := torch.OpenScope()
	defer scope.Close()
	place := objectives.Place{
		Vocabulary: int64(m.Words.Len()), Width: int64(c.Model.Width), Padding: -1, Hidden: int64(c.Model.LastHidden),
		Params: m.Params, Embedding: "encoder", Output: "decoder", Stream: torch.NewStream(uint64(c.Train.Seed), "init"), Device: m.Device,
	}
	if c.Model.Kind == "transformer-xl" {
		place.Deviation = deviation
	} else {
		place.Uniform = uniform
	}
	var input models.Embedder
	if c.Model.Tying == "none" {
		table, err := objectives.NewTable(place)
		if err != nil {
			return err
		}
		input, place.Embedding = table, "decoder"
	}
	var err error
	if m.Output, err = objectives.New(output.Settings(c), place); err != nil {
		return err
	}
	if input == nil {
		input = m.Output
	}
	if c.Model.Kind == "transformer-xl" {
		return m.buildXL(input, place.Stream)
	}
	return m.buildRecurrent(input, place)
}

func (m *Model) buildRecurrent(input models.Embedder, place objectives.Place) error {
	c := m.Config
	config := models.RecurrentConfig{
		Width: c.Model.Width, Hidden: c.Model.Hidden, LastWidth: c.Model.LastHidden, Layers: c.Model.Layers, Vocabulary: place.Vocabulary, DType: torch.Float32,
		Noise: models.Noise{
			EmbeddingDropout: c.Model.DropoutEmbedding, InputDropout: c.Model.DropoutInput, LayerDropout: c.Model.DropoutHidden,
			OutputDropout: c.Model.Dropout, WeightDrop: c.Model.WeightDrop, InputNoise: c.Model.InputNoise, AR: c.Train.AR, TAR: c.Train.TAR,
		},
	}
	if c.Model.Kind == "qrnn" {
		network, err := models.NewQRNN(config, input, m.Params, place.Stream, m.Device)
		if err != nil {
			return err
		}
		m.Network, m.noise = network, &network.Noise
		return nil
	}
	network, err := models.NewAWDLSTM(config, input, m.Params, place.Stream, m.Device)
	if err != nil {
		return err
	}
	m.Network, m.noise = network, &network.Noise
	return nil
}

func (m *Model) buildXL(input models.Embedder, stream *torch.Stream) error {
	c := m.Config.Model
	network, err := models.NewTransformerXL(models.TransformerXLConfig{
		Layers: c.Layers, Width: c.Width, Heads: c.Heads, HeadWidth: c.Width / c.Heads, FFNWidth: c.FFNWidth,
		Dropout: c.Dropout, AttentionDropout: c.AttentionDropout, DType: torch.Float32,
	}, models.XLContext{Memory: c.Memory, Clamp: c.Clamp, SameLength: c.SameLength}, input, m.Params, stream, m.Device)
	if err != nil {
		return err
	}
	m.Network, m.xl = network, network
	return nil
}

// SetContext changes what a Transformer-XL sees of the past, and the length of the
// chunks in which texts are scored; other networks have nothing to change.
func (m *Model) SetContext(c models.XLContext, rows int) error {
	if m.xl == nil {
		return fmt.Errorf("model.kind = %q has no memory to change: only transformer-xl has", m.Config.Model.Kind)
	}
	if err := m.xl.SetContext(c); err != nil {
		return err
	}
	m.Config.Model.Memory, m.Config.Model.Clamp, m.Config.Model.SameLength, m.Config.Train.BPTT = c.Memory, c.Clamp, c.SameLength, rows
	return nil
}

// SetInputNoise sets the standard deviation of the noise on word vectors.
func (m *Model) SetInputNoise(deviation float64) {
	if m.noise != nil {
		m.noise.InputNoise = deviation
	}
}

// Free frees the weights.
func (m *Model) Free() {
	if m.xl != nil {
		m.xl.Free()
	}
	if m.Output != nil {
		m.Output.Free()
	}
	m.Params.Free()
}

// plain is a copy of the model whose training loss is the clean one, without smoothing and
// perturbation, and whose word vectors are one matrix. It predicts alike.
func (m *Model) plain() (*Model, error) {
	c := m.Config
	c.Objective.Method, c.Objective.LabelSmoothing = objectives.Plain(c.Objective.Method), 0
	p, err := New(c, m.Words, m.Device)
	if err != nil {
		return nil, err
	}
	scope := torch.OpenScope()
	defer scope.Close()
	values := m.Params.Map()
	m.Output.Plain(values)
	if err := p.Params.Load(values); err != nil {
		p.Free()
		return nil, err
	}
	return p, nil
}

// Open reads the model of a run folder: the best checkpoint, with averaged weights
// where it has them.
func Open(folder string, device torch.Device) (*Model, []checkpoint.Warning, error) {
	c, err := experiment.ReadConfig(folder)
	if err != nil {
		return nil, nil, err
	}
	if c.Task() != experiment.LanguageModel {
		return nil, nil, fmt.Errorf("%s holds a translator, not a language model", folder)
	}
	words, err := readWords(folder)
	if err != nil {
		return nil, nil, err
	}
	m, err := New(c, words, device)
	if err != nil {
		return nil, nil, err
	}
	warnings, err := weights.LoadBest(m.Params, folder, device)
	if err != nil {
		m.Free()
		return nil, warnings, err
	}
	return m, warnings, nil
}
