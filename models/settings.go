package models

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Settings are the keys of the section model: those that several networks share, and each network's own, which stand in
// its file. A network reads its own and leaves the rest alone.
type Settings struct {
	Kind    string  `toml:"kind" default:"transformer" help:"the network: transformer and attentional translate; awd-lstm, qrnn, gru, transformer-xl and gpt are language models"`
	Width   int     `toml:"width" default:"512" range:"[1,65536]" help:"width of embeddings and hidden states (d_model)"`
	Layers  int     `toml:"layers" task:"language model" default:"3" range:"[1,1000]" help:"layers of the network"`
	Dropout float64 `toml:"dropout" init:"free" default:"0.1" range:"[0,1)" help:"dropout on embeddings and on what each sub-layer adds; locked dropout of the last layer's output in a recurrent language model, and of attentional states"`
	Tying   string  `toml:"tying" default:"all" choice:"all decoder none" help:"which matrices are one: both inputs and the output, the decoder's input and the output, or none"`

	InputNoise    float64 `toml:"input_noise" kinds:"transformer attentional awd-lstm qrnn gru gpt" init:"free" default:"0.0" range:"[0,inf)" help:"standard deviation of Gaussian noise on word vectors at the start of training"`
	InputNoiseEnd float64 `toml:"input_noise_end" kinds:"transformer attentional awd-lstm qrnn gru gpt" init:"free" default:"0.0" range:"[0,inf)" help:"the same at the end of training; in between it changes in equal steps, an epoch each"`

	AttentionSettings      `kinds:"transformer transformer-xl gpt"`
	LayerSettings          `kinds:"transformer gpt"`
	EncoderDecoderSettings `task:"translation"`
	TransformerSettings    `task:"translation" kinds:"transformer"`
	AttentionalSettings    `task:"translation" kinds:"attentional"`
	RecurrentSettings      `task:"language model" kinds:"awd-lstm qrnn gru"`
	XLContext              `task:"language model" kinds:"transformer-xl"`
}

// EncoderDecoderSettings are the keys that networks of an encoder and a decoder share.
type EncoderDecoderSettings struct {
	EncoderLayers int `toml:"encoder_layers" default:"6" range:"[1,1000]" help:"layers of the encoder"`
	DecoderLayers int `toml:"decoder_layers" default:"6" range:"[1,1000]" help:"layers of the decoder"`
}

// NoiseOfEpoch is the standard deviation of the noise on word vectors in an epoch, counted from 0, of a run of that
// many epochs: from InputNoise in the first to InputNoiseEnd in the last. Where the run has no last epoch (0), it
// stays.
func (s Settings) NoiseOfEpoch(epoch, epochs int) float64 {
	if epochs < 2 {
		return s.InputNoise
	}
	return s.InputNoise + (s.InputNoiseEnd-s.InputNoise)*math.Min(1, float64(epoch)/float64(epochs-1))
}

// Config says what network to build. Settings of noise may be changed between batches.
type Config struct {
	Settings
	ActivationSettings       // of recurrent language models
	Vocabulary         int64 // words that the embedding of a recurrent language model knows
	DType              torch.DType
}

// SetInputNoise sets the standard deviation of the noise on word vectors, from the next batch on. A Transformer-XL adds
// none.
func (c *Config) SetInputNoise(deviation float64) { c.InputNoise = deviation }
