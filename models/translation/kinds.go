package translation

import (
	"errors"
	"fmt"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// kind is what is known of one value of model.kind.
type kind struct {
	// make makes the network and adds its parameters to p.
	make func(
		c models.Config, source, target models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device,
	) (models.Translator, error)
	// check says what is wrong with the sizes, beyond the keys' ranges.
	check func(s models.Settings) error
	// start says how wide word vectors are beside states, and how weights start; nil leaves both as they are.
	start func(s models.Settings, c *objectives.Config)
	// beside is the width at which products take as long as all else that training computes, on a CPU.
	beside int
}

var kinds = models.Kinds[kind]{
	{"transformer", kind{
		make: func(
			c models.Config, source, target models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device,
		) (models.Translator, error) {
			return models.NewTransformer(c, source, target, p, stream, d)
		},
		check: func(s models.Settings) error {
			if s.Positions == "rotary" {
				return errors.New(`model.positions = "rotary" is for gpt: a transformer has "sinusoidal" or "learned"`)
			}
			if s.Positions == "sinusoidal" && s.Width%2 != 0 {
				return fmt.Errorf("model.width = %d is odd: sinusoidal positions want it even", s.Width)
			}
			return s.CheckHeads()
		},
		beside: 125,
	}},
	{"attentional", kind{
		make: func(
			c models.Config, source, target models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device,
		) (models.Translator, error) {
			return models.NewAttentional(c, source, target, p, stream, d)
		},
		check: models.Settings.CheckAttentional,
		start: func(s models.Settings, c *objectives.Config) {
			c.Width, c.Hidden, c.Uniform = int64(s.WordVectors()), int64(s.Width), s.Range(s.Width)
		},
		beside: 110,
	}},
}

// Kinds lists the values of model.kind that translate.
func Kinds() []string { return kinds.Names() }

func (s Settings) kind() (kind, error) { return kinds.Of(s.Model.Kind, "does not translate") }

// Reaches is the share of the rate of a large product of matrices at which training computes, as measured on a CPU:
// docs/scale.md.
func (s Settings) Reaches() float64 {
	k, _ := s.kind()
	return float64(s.Model.Width) / float64(s.Model.Width+k.beside)
}
