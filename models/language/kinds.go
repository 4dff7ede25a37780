package language

import (
	"cmp"
	"fmt"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// maker makes a network that reads word vectors from input, and adds its parameters to p.
type maker = func(
	c models.Config, input models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device,
) (models.LanguageModel, error)

// making is a constructor of one network as a maker.
func making[M models.LanguageModel](
	build func(models.Config, models.Embedder, *torch.Params, *torch.Stream, torch.Device) (M, error),
) maker {
	return func(
		c models.Config, input models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device,
	) (models.LanguageModel, error) {
		m, err := build(c, input, p, stream, d)
		if err != nil {
			return nil, err // not an M that is nil, which an interface would hide
		}
		return m, nil
	}
}

// kind is what is known of one value of model.kind.
type kind struct {
	make maker
	// start says how word vectors start.
	start func(c *objectives.Config)
	// check says what is wrong with the sizes, beyond the keys' ranges; nil finds nothing.
	check func(s models.Settings) error
	// width is that of the layers whose products take most of training; beside is the width at which all else that
	// training computes takes as long as they, on a CPU.
	width  func(s models.Settings) int
	beside int
	// reading is the number of columns whose products take as long as reading the recurrent weights, which each step
	// does anew where they exceed a processor's own cache; 0 where no step reads them.
	reading float64
	// seesChunks: what the network sees depends on the chunks of a text, which is scored in those of training.
	seesChunks bool
	// blocks: each chunk is read by itself, from its first step on, and texts are scored in windows of train.bptt.
	blocks bool
}

var kinds = models.Kinds[kind]{
	{"awd-lstm", kind{
		make: making(models.NewAWDLSTM), start: uniform, width: hidden, beside: 90, reading: 4.4,
	}},
	{"qrnn", kind{
		make: making(models.NewQRNN), start: uniform, width: hidden, beside: 310,
	}},
	{"gru", kind{
		make: making(models.NewGRU), start: uniform, width: hidden, beside: 1400,
	}},
	{"transformer-xl", kind{
		make: making(models.NewTransformerXL), start: func(c *objectives.Config) { c.Deviation = 0.02 },
		width: func(s models.Settings) int { return s.Width }, beside: 125, seesChunks: true,
		check: func(s models.Settings) error {
			if s.LastHidden != 0 {
				return fmt.Errorf("model.last_hidden = %d: all layers of a transformer-xl are as wide as its embedding; "+
					"set it to 0", s.LastHidden)
			}
			if s.Width%2 != 0 {
				return fmt.Errorf("model.width = %d is odd: the sinusoids of a transformer-xl want it even", s.Width)
			}
			return cmp.Or(s.XLContext.Check(), s.CheckHeads())
		},
	}},
	{"gpt", kind{
		make: making(models.NewGPT), start: func(c *objectives.Config) { c.Deviation = 0.02 },
		width: func(s models.Settings) int { return s.Width }, beside: 125, blocks: true,
		check: models.Settings.CheckGPT,
	}},
}

// uniform starts word vectors between -0.1 and 0.1, as AWD-LSTM does.
func uniform(c *objectives.Config) { c.Uniform = 0.1 }

// Kinds lists the values of model.kind that are language models.
func Kinds() []string { return kinds.Names() }

func (s Settings) kind() (kind, error) { return kinds.Of(s.Model.Kind, "is no language model") }

// ownCache is the size of the cache that a processor's core has to itself, 2 MiB on those of today.
const ownCache = 2 << 20

// Reaches is the share of the rate of a large product of matrices at which batches of the given number of columns are
// trained on, as measured on a CPU: docs/scale.md.
func (s Settings) Reaches(columns int) float64 {
	k, _ := s.kind()
	width := k.width(s.Model)
	share := float64(width) / float64(width+k.beside)
	if 4*width*width*4 > ownCache && k.reading > 0 {
		share = min(share, float64(columns)/(float64(columns)+k.reading))
	}
	return share
}

func hidden(s models.Settings) int { return s.Hidden }
