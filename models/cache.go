package models

import (
	"slices"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// Cache carries incremental decoding from step to step: for each layer the keys and values of the words so far, and
// those of the source. It holds R = B x beam hypotheses, the beam's hypotheses of a sentence side by side.
//
// Legend: B sentences, G hypotheses of a sentence (the beam), R = B G.
type Cache struct {
	selfK, selfV   []torch.Tensor // [R,H,t,K]
	crossK, crossV []torch.Tensor // [B,H,S,K]: the beam's hypotheses share them
	mask           torch.Tensor   // [B,1,1,S] or the zero Tensor
	beam           int64
	step           int64
}

// Begin starts decoding with beam hypotheses for each encoded source; Reorder may
// change their number. The cache lives until Free.
func (m *Transformer) Begin(e Encoded, beam int) *Cache {
	c := &Cache{beam: int64(beam), mask: e.mask_B11S}
	for _, l := range m.decoder {
		k, v := l.crossAttn.keys(e.Memory)
		c.crossK, c.crossV = append(c.crossK, k.Contiguous()), append(c.crossV, v.Contiguous())
	}
	// Kept when all are made: an operator may fail for want of memory, and nobody would free the others.
	torch.Keep(slices.Concat(c.crossK, c.crossV)...)
	if c.mask.Defined() {
		torch.Keep(c.mask)
	}
	c.selfK, c.selfV = make([]torch.Tensor, len(m.decoder)), make([]torch.Tensor, len(m.decoder))
	return c
}

// Step appends one word to each hypothesis and returns the hidden states [R,D] from which the next is predicted. With
// attention wanted, the last layer's attention over the source comes too, [R,S].
func (m *Transformer) Step(c *Cache, words []int64, wantAttention bool) (hidden, attention torch.Tensor) {
	r := int64(len(words))
	place := make([]int64, len(words))
	for i := range place {
		place[i] = c.step + tokenize.Pad + 1
	}
	x := m.stepVectors(words, c.step, r, 1).Add(m.targetPlaces.lookup(place, m.device, r, 1))
	for i, l := range m.decoder {
		x = m.residual(x, l.selfNorm, nil, func(x torch.Tensor) torch.Tensor {
			k, v := l.selfAttn.keys(x)
			if c.step > 0 {
				k, v = torch.Cat([]torch.Tensor{c.selfK[i], k}, 2), torch.Cat([]torch.Tensor{c.selfV[i], v}, 2)
			}
			replace(&c.selfK[i], k)
			replace(&c.selfV[i], v)
			return l.selfAttn.attend(x, k, v, torch.Tensor{}, false, nil)
		})
		x = m.residual(x, l.crossNorm, nil, func(x torch.Tensor) torch.Tensor {
			// Each hypothesis of a sentence is a query to one source.
			q := x.Reshape(-1, c.beam, int64(m.Width))
			if wantAttention && i == len(m.decoder)-1 {
				attention = l.crossAttn.weights(q, c.crossK[i], c.mask).Reshape(r, -1)
			}
			return l.crossAttn.attend(q, c.crossK[i], c.crossV[i], c.mask, false, nil).Reshape(r, 1, -1)
		})
		x = m.inner(l, x, nil)
	}
	if m.PreNorm {
		x = m.decoderNorm.apply(x)
	}
	c.step++
	return x.Reshape(r, -1), attention
}

// stepVectors looks up the words of a step of decoding, and scales them.
func (m *Transformer) stepVectors(words []int64, step int64, shape ...int64) torch.Tensor {
	x := m.target.Lookup(torch.FromInt64s(words, torch.CPU, shape...)).MulScalar(m.scale())
	if m.ZeroStart && step == 0 {
		return x.MulScalar(0)
	}
	return x
}

// Reorder makes hypothesis order[i] the new hypothesis i, and keeps only the sentences that still decode: sentence
// keep[b] becomes sentence b (nil keeps all). order is by hypothesis of the new arrangement, in the old numbering, the
// same number for each sentence.
func (c *Cache) Reorder(order []int64, keep []int64, d torch.Device) {
	if len(c.crossK) > 0 {
		sentences := c.crossK[0].Size(0)
		if keep != nil {
			sentences = int64(len(keep))
		}
		c.beam = int64(len(order)) / sentences
	}
	index := torch.FromInt64s(order, d, int64(len(order)))
	for i := range c.selfK {
		replace(&c.selfK[i], c.selfK[i].IndexSelect(0, index))
		replace(&c.selfV[i], c.selfV[i].IndexSelect(0, index))
	}
	if keep == nil {
		return
	}
	sentences := torch.FromInt64s(keep, d, int64(len(keep)))
	for i := range c.crossK {
		replace(&c.crossK[i], c.crossK[i].IndexSelect(0, sentences))
		replace(&c.crossV[i], c.crossV[i].IndexSelect(0, sentences))
	}
	if c.mask.Defined() {
		replace(&c.mask, c.mask.IndexSelect(0, sentences))
	}
}

// Free frees what the cache holds.
func (c *Cache) Free() {
	for _, list := range [][]torch.Tensor{c.selfK, c.selfV, c.crossK, c.crossV, {c.mask}} {
		torch.Free(list...)
	}
}
