package models_test

import (
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// masks counts the places of a network that have a dropout, by key.
type masks struct{ dropout, attention, activation int }

// translatorMasks are those of words of either side, attention, and what is behind each of them and each inner layer.
func translatorMasks(m *models.Transformer) masks {
	layers, attentions := m.EncoderLayers+m.DecoderLayers, m.EncoderLayers+2*m.DecoderLayers
	return masks{2 + attentions + layers, attentions, layers}
}

// TestDropouts: each place of a network that has a dropout draws one mask of it, and the rates may change between
// batches, as all noise may.
func TestDropouts(t *testing.T) {
	torch.Test(t, func() {
		gpt, p := newGPT(t, models.LayerSettings{Positions: "learned"}, torch.Float32)
		defer p.Free()
		defer gpt.Free()
		xl, p := newTransformerXL(t, 3, models.XLContext{Memory: 5}, torch.Float32)
		defer p.Free()
		defer xl.Free()
		post := load(t, "postnorm_tied", torch.Float32)
		defer post.free()
		pre := load(t, "prenorm_learned", torch.Float32)
		defer pre.free()
		for what, n := range map[string]struct {
			config *models.Config
			want   masks
			draw   func(s *torch.Stream)
		}{
			"gpt": {&gpt.Config, masks{1 + 2*gpt.Layers, gpt.Layers, gpt.Layers},
				func(s *torch.Stream) { gpt.Forward(tinyText(), nil, s) }},
			// Of the words, the distances and the states; behind attention, within the inner layer and behind it.
			"transformer-xl": {&xl.Config, masks{3 + 3*xl.Layers, xl.Layers, 0},
				func(s *torch.Stream) { xl.Forward(tinyText(), nil, s) }},
			"post-norm": {&post.model.Config, translatorMasks(post.model), func(s *torch.Stream) {
				post.model.Forward(post.source, post.prev, s)
			}},
			"pre-norm": {&pre.model.Config, translatorMasks(pre.model), func(s *torch.Stream) {
				pre.model.Forward(pre.source, pre.prev, s)
			}},
		} {
			for key, c := range map[string]struct {
				rate *float64
				want int
			}{
				"dropout":            {&n.config.Dropout, n.want.dropout},
				"attention_dropout":  {&n.config.AttentionDropout, n.want.attention},
				"activation_dropout": {&n.config.ActivationDropout, n.want.activation},
			} {
				for _, rate := range []float64{0, 0.5, 0} {
					*c.rate = rate
					want := 0
					if rate > 0 {
						want = c.want
					}
					s := torch.NewStream(2, "dropout")
					if n.draw(s); s.Offset != uint64(want) {
						t.Errorf("%s with %s %g: %d masks are drawn, want %d", what, key, rate, s.Offset, want)
					}
				}
			}
		}
	})
}
