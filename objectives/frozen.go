package objectives

import (
	"errors"
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Frozen is a table of target vectors [V,M] that training does not touch: what a continuous likelihood aims at (Kumar
// and Tsvetkov 2019). Rows are scaled to length 1 when the layer is made.
//
// A row of zeros stands for a symbol that is never predicted: padding, the start of a
// sentence, a word that no vector is known of. It never wins a search.
//
// As the input of a decoder, a row goes through a trained linear map from M to the model's
// width, <prefix>.map.weight [D,M] and .bias [D]; a row of zeros is the bias.
//
// The table is no parameter and stands in no checkpoint: a run keeps it once, beside the vocabulary whose order it has.
//
// Legend: V vocabulary, M components of a vector, D width of the model.
type Frozen struct {
	table torch.Tensor // [V,M], rows of length 1 or 0
	bias  torch.Tensor // [V], 0, and neverChosen where the row is zero

	weight, shift torch.Tensor // [D,M] and [D], or the zero Tensor where nothing looks rows up
}

// neverChosen is added to the score of a word that has no vector. It is finite, so that
// sums and softmaxes over scores stay numbers.
const neverChosen = -1e30

// Rows that Init works on at once, in float64: of a table as large as memory allows there is no second copy.
const rowsAtOnce = 4096

// Rows whose components are all smaller than this have no direction.
const shortestVector = 1e-12

// Init scales the configuration's vectors and makes the map.
func (e *Frozen) Init(p Config) error {
	if !p.Vectors.Defined() {
		return errors.New("continuous methods need target vectors: name a file with -vectors, or let them be made " +
			"from the training text")
	}
	shape := p.Vectors.Shape()
	if len(shape) != 2 || shape[0] != p.Vocabulary || shape[1] < 1 {
		return fmt.Errorf("target vectors of shape %v do not fit a vocabulary of %d: there must be one row for each "+
			"symbol", shape, p.Vocabulary)
	}
	scope := torch.OpenScope()
	defer scope.Close()
	e.table, e.bias = torch.Zeros(p.dtype(), p.Device, shape...), torch.Zeros(p.dtype(), p.Device, p.Vocabulary)
	p.keep(e.table, e.bias)
	keep_V1 := p.keepRows()
	for start := int64(0); start < p.Vocabulary; start += rowsAtOnce {
		if err := e.fill(p.Vectors.Detach(), keep_V1, start, min(rowsAtOnce, p.Vocabulary-start)); err != nil {
			return err
		}
	}
	if p.OutputOnly {
		return nil
	}
	m := shape[1]
	weight, shift := p.startMap(math.Pow(float64(p.Width), -0.5), p.Width, m)
	e.weight = p.Params.Add(p.Embedding+".map.weight", weight.To(p.dtype(), p.Device))
	e.shift = p.Params.Add(p.Embedding+".map.bias", shift.To(p.dtype(), p.Device))
	return nil
}

// fill scales n rows, from start on, to length 1 and puts them into the table.
func (e *Frozen) fill(vectors_VM, keep_V1 torch.Tensor, start, n int64) error {
	scope := torch.OpenScope()
	defer scope.Close()
	x := vectors_VM.Narrow(0, start, n).To(torch.Float64, torch.CPU)
	if !x.AllFinite() {
		return errors.New("a target vector has a component that is no finite number: correct the file of vectors")
	}
	x = x.Mul(keep_V1.Narrow(0, start, n))
	// The largest component is scaled to 1 first, so that squares neither overflow nor vanish.
	largest := x.Abs().MaxDim(1, true)
	none := largest.Less(torch.Full(shortestVector, torch.Float64, torch.CPU, 1))
	x = x.Div(largest.ClampMin(shortestVector)).MaskedFill(none, 0)
	x = x.Div(x.Norm(1, true).ClampMin(1))
	e.table.Narrow(0, start, n).Assign(x)
	e.bias.Narrow(0, start, n).Assign(torch.Zeros(torch.Float64, torch.CPU, n).MaskedFill(none.Reshape(-1),
		neverChosen))
	return nil
}

// Lookup gives mapped rows: for ids [...] the result is [...,D].
func (e *Frozen) Lookup(ids torch.Tensor) torch.Tensor {
	return torch.Linear(torch.Embedding(e.table, ids, -1), e.weight, e.shift)
}

// Head is the table itself; its Map takes hidden states that the likelihood has brought to M components.
func (e *Frozen) Head() Head {
	return Head{Weight: e.table, Map: func(h torch.Tensor) torch.Tensor { return h }}
}

// Size is (V, M).
func (e *Frozen) Size() (vocabulary, width int64) { return e.table.Size(0), e.table.Size(1) }

// Matrix is the table.
func (e *Frozen) Matrix() torch.Tensor { return e.table.Detach() }

// Operations are those of the map. The vectors get no gradient.
func (e *Frozen) Operations(w Work) torch.Operations {
	if !e.weight.Defined() {
		return torch.Operations{}
	}
	all := torch.ProductOperations(w.Rows, e.table.Size(1), e.weight.Size(0))
	all.Backward /= 2
	return all
}
