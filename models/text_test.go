package models_test

import (
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// table is an embedding, with or without padding.
type table struct {
	weight  torch.Tensor
	padding int64
}

func (e table) Lookup(ids torch.Tensor) torch.Tensor {
	return torch.Embedding(e.weight, ids, e.padding)
}

func (e table) LookupOperations(int64) torch.Operations { return torch.Operations{} }

// words adds an embedding [v, d] without padding, as language models have it.
func words(p *torch.Params, name string, v, d int64, s *torch.Stream, dtype torch.DType) table {
	return table{p.Add(name, s.Uniform(-1, 1, dtype, device, v, d)), -1}
}

// pieces adds an embedding [v, d] with padding, as translators have it.
func pieces(p *torch.Params, name string, v, d int64, s *torch.Stream, dtype torch.DType) table {
	return table{p.Add(name, s.Normal(0, 0.1, dtype, device, v, d)), tokenize.Pad}
}

const textWords = 11

// tinyText is a chunk of 7 steps and 3 columns; word 4 stands in it twice and more.
func tinyText() models.Chunk {
	x := models.Chunk{Time: 7, Columns: 3}
	for i := range x.Time * x.Columns {
		x.IDs = append(x.IDs, int64(i*i+i/4)%textWords)
	}
	return x
}

// steps are the steps from first to last (exclusive) of a chunk.
func steps(x models.Chunk, first, last int) models.Chunk {
	return models.Chunk{IDs: x.IDs[first*x.Columns : last*x.Columns], Time: last - first, Columns: x.Columns}
}

// trains takes chunks forth and back with noise: two draws differ, every parameter
// gets a gradient, and once the carried state is full no tensor outlives the scope
// of a chunk but that state.
func trains(t *testing.T, m models.LanguageModel, p *torch.Params) {
	t.Helper()
	stream := torch.NewStream(1, "dropout")
	var carried models.Carried
	defer func() { carried.Free() }()
	chunk := func() {
		scope := torch.OpenScope()
		defer scope.Close()
		states, next := m.Forward(tinyText(), carried, stream)
		loss := states.Hidden.Square().Sum()
		for _, term := range states.Terms {
			loss = loss.Add(term.Value.MulScalar(term.Weight))
		}
		loss.Backward()
		next.Keep()
		carried.Free()
		carried = next
	}
	chunk()
	chunk()
	before := torch.LiveHandles()
	for range 3 {
		chunk()
	}
	if left := torch.LiveHandles() - before; left != 0 {
		t.Errorf("three chunks leave %d tensors", left)
	}
	for _, name := range p.Names() {
		if !p.Get(name).Grad().Defined() {
			t.Errorf("%s has no gradient", name)
		}
	}
	a, _ := m.Forward(tinyText(), carried, stream)
	b, _ := m.Forward(tinyText(), carried, stream)
	if a.Hidden.Sub(b.Hidden).Abs().Sum().Item() == 0 {
		t.Error("two draws give the same states")
	}
}
