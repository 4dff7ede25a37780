package models

import "github.com/aperture-ml/aperture/torch"

// What each network multiplies in training, for batches of padded places: the counts are those of Forward's products,
// in the order in which it makes them. What is looked up counts nothing, unless an embedder multiplies for it.
//
// Legend: B sentences or columns, S and T steps of source and target or of a chunk, D width, N = B T places.

// Operations are those of a batch.
func (m *Transformer) Operations(source, prev Tokens) torch.Operations {
	n, s := int64(source.Rows*source.Width), int64(source.Width)
	k, t := int64(prev.Rows*prev.Width), int64(prev.Width)
	d, f := int64(m.Width), int64(m.FFNWidth)
	// attention of queries that read this number of keys each, of memories [seen,D].
	attention := func(queries, seen, keys int64) torch.Operations {
		maps := torch.ProductOperations(queries, d, d).Plus(torch.ProductOperations(seen, d, d)).Times(2)
		return maps.Plus(torch.ProductOperations(queries, d, keys).Times(2))
	}
	inner := func(places int64) torch.Operations { return torch.ProductOperations(places, d, f).Times(2) }
	encoder := attention(n, n, s).Plus(inner(n)).Times(int64(m.EncoderLayers))
	decoder := attention(k, k, t).Plus(attention(k, n, s), inner(k)).Times(int64(m.DecoderLayers))
	return m.trained(encoder.Plus(decoder)).Plus(m.source.LookupOperations(n), m.target.LookupOperations(k))
}

// Operations are those of a batch, with both of attention's matrices folded into the memory
// (csrc/attention/attentional.cc).
func (m *Attentional) Operations(source, prev Tokens) torch.Operations {
	n, s := int64(source.Rows*source.Width), int64(source.Width)
	k := int64(prev.Rows * prev.Width)
	d, words := int64(m.Width), int64(m.WordVectors())
	all := m.source.LookupOperations(n).Plus(m.target.LookupOperations(k))
	from := words
	for range m.encoder { // two directions of d/2 units, with four gates
		all = all.Plus(torch.ProductOperations(n, from+d/2, 2*d).Times(2))
		from = d
	}
	from = words + d
	for range m.decoder {
		all = all.Plus(torch.ProductOperations(k, from+d, 4*d))
		from = d
	}
	folded := torch.ProductOperations(n, d, d).Times(2)
	return all.Plus(folded, torch.ProductOperations(k, d, d), torch.ProductOperations(k, d, s).Times(2))
}

// operations are those of a stack of layers with these numbers of matrices [H,I] for a layer's input and [H,H] for its
// state.
func (c *Config) operations(x Chunk, e Embedder, input, state int64) torch.Operations {
	n, from := int64(x.Time*x.Columns), int64(c.Width)
	all := e.LookupOperations(n)
	for i := range c.Layers {
		h := c.layerWidth(i)
		all = all.Plus(torch.ProductOperations(n, from, input*h), torch.ProductOperations(n, h, state*h))
		from = h
	}
	return all
}

// Operations are those of a chunk.
func (m *AWDLSTM) Operations(x Chunk) torch.Operations { return m.operations(x, m.embedding, 4, 4) }

// Operations are those of a chunk.
func (m *GRU) Operations(x Chunk) torch.Operations { return m.operations(x, m.embedding, 3, 3) }

// Operations are those of a chunk, whose first layer sees the step before as well.
func (m *QRNN) Operations(x Chunk) torch.Operations {
	before := torch.ProductOperations(int64(x.Time*x.Columns), int64(m.Width), 3*m.layerWidth(0))
	return m.operations(x, m.embedding, 3, 0).Plus(before)
}

// Operations are those of a chunk behind a full memory.
func (m *TransformerXL) Operations(x Chunk) torch.Operations {
	n, s := int64(x.Time*x.Columns), int64(m.Memory+x.Time)
	d, f, hk := int64(m.Width), int64(m.FFNWidth), int64(m.Heads*m.headWidth())
	distances := torch.ProductOperations(s, d, hk)
	distances.Backward /= 2 // sines and cosines get no gradient
	layer := distances.Plus(
		torch.ProductOperations(n, d, hk), torch.ProductOperations(s*int64(x.Columns), d, 2*hk),
		torch.ProductOperations(n, hk, s).Times(3), // by content, by distance, and what is read
		torch.ProductOperations(n, hk, d), torch.ProductOperations(n, d, f).Times(2))
	return m.embedding.LookupOperations(n).Plus(m.trained(layer.Times(int64(m.Layers))))
}

// Operations are those of a chunk.
func (m *GPT) Operations(x Chunk) torch.Operations {
	n, d, f := int64(x.Time*x.Columns), int64(m.Width), int64(m.FFNWidth)
	layer := torch.ProductOperations(n, d, d).Times(4).Plus(torch.ProductOperations(n, d, int64(x.Time)).Times(2),
		torch.ProductOperations(n, d, f).Times(2))
	return m.embedding.LookupOperations(n).Plus(m.trained(layer.Times(int64(m.Layers))))
}
