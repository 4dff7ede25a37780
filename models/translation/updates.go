package translation

import (
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Updates hands out sentence pairs, an optimizer step's at a time.
type Updates struct {
	translator *Translator
	loader     *corpus.Loader
	noise      func(epoch int) float64
	epoch      int // of the next update
}

// Updates begins at a position. noise gives the standard deviation of the noise on word vectors in an epoch, counted
// from 0.
func (t *Translator) Updates(pairs corpus.Pairs, o corpus.Options, from corpus.Position,
	noise func(epoch int) float64) (*Updates, error) {
	loader, err := corpus.NewLoader(pairs, o, from)
	if err != nil {
		return nil, err
	}
	return &Updates{t, loader, noise, from.Epoch}, nil
}

// Next gives the next update.
func (u *Updates) Next() (models.Update, error) {
	u.translator.Network.SetInputNoise(u.noise(u.epoch))
	next, err := u.loader.Next()
	u.epoch = next.Position.Epoch
	out := models.Update{Places: next.Places, All: next.All, Tokens: next.Tokens, Sentences: next.Sentences, Rate: 1,
		Position: next.Position}
	for _, b := range next.Batches {
		out.Batches = append(out.Batches, batch{u.translator, b})
	}
	return out, err
}

// Count counts the updates of the first epochs.
func (u *Updates) Count(epochs int) int { return epochs * u.loader.UpdatesPerEpoch() }

// Carried is empty: sentences know nothing of one another.
func (u *Updates) Carried() map[string]torch.Tensor { return nil }

// Close ends the preparation of batches.
func (u *Updates) Close() { u.loader.Close() }

// Rehearse runs the network on a batch of one token, for the draws that it makes.
func (u *Updates) Rehearse(dropout *torch.Stream) (torch.States, torch.Tensor) {
	one := &corpus.Batch{Source: []int64{tokenize.EOS}, Prev: []int64{tokenize.EOS}, Target: []int64{tokenize.EOS},
		Rows: 1, S: 1, T: 1, Tokens: 1}
	return u.translator.Forward(one, dropout)
}

type batch struct {
	translator *Translator
	pairs      *corpus.Batch
}

func (b batch) Size() int { return b.pairs.Tokens }

func (b batch) Places() int { return b.pairs.Rows * (b.pairs.S + b.pairs.T) }

func (b batch) Forward(dropout *torch.Stream) (torch.States, torch.Tensor) {
	return b.translator.Forward(b.pairs, dropout)
}

func (b batch) Operations() torch.Operations {
	return b.translator.Operations(b.pairs)
}
