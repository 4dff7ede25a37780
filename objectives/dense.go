package objectives

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Dense is W [V,D] as one parameter, <prefix>.weight.
//
// It starts as in fairseq: normal with mean 0 and standard deviation D^-1/2, the padding's row at zero, or uniform
// where its configuration says so, as language models do. The factor sqrt(D) of a lookup is the model's.
type Dense struct {
	negligible // rows are copied, and hidden states are scored as they are
	weight     torch.Tensor
	padding    int64
}

// NewTable makes a dense embedding for tables that a method does not shape: the
// input side of models whose embeddings are not tied to the output layer.
func NewTable(p Config) (*Dense, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	e := &Dense{}
	return e, torch.Try(func() error { return e.Init(p) })
}

// Init makes the weight.
func (e *Dense) Init(p Config) error {
	e.padding = p.Padding
	s := torch.OpenScope()
	defer s.Close()
	e.weight = p.Params.Add(p.Embedding+".weight", initialMatrix(p).To(p.dtype(), p.Device))
	return nil
}

// initialMatrix draws the baseline's W [V,D] in float64 on the CPU.
func initialMatrix(p Config) torch.Tensor {
	if p.Stream.IsUnset() {
		return torch.Zeros(p.dtype(), p.Device, p.Vocabulary, p.Width)
	}
	if p.Uniform > 0 {
		return p.Stream.Uniform(-p.Uniform, p.Uniform, torch.Float64, torch.CPU, p.Vocabulary, p.Width).Mul(p.keepRows())
	}
	w := p.Stream.Normal(0, p.deviation(), torch.Float64, torch.CPU, p.Vocabulary, p.Width)
	return w.Mul(p.keepRows())
}

// initialEnergy is the expected |W|_F^2 of that matrix.
func initialEnergy(p Config) float64 {
	if p.Uniform > 0 {
		return float64(p.rows()) * float64(p.Width) * p.Uniform * p.Uniform / 3
	}
	return float64(p.rows()) * float64(p.Width) * p.deviation() * p.deviation()
}

// deviation is that of a normal matrix.
func (p Config) deviation() float64 {
	if p.Deviation > 0 {
		return p.Deviation
	}
	return math.Pow(float64(p.Width), -0.5)
}

// Lookup gives rows of W.
func (e *Dense) Lookup(ids torch.Tensor) torch.Tensor {
	return torch.Embedding(e.weight, ids, e.padding)
}

// LookupOperations are none: rows are copied.
func (e *Dense) LookupOperations(int64) torch.Operations { return torch.Operations{} }

// Head is W itself.
func (e *Dense) Head() Head {
	return Head{Weight: e.weight, Map: func(h torch.Tensor) torch.Tensor { return h }}
}

// Size is (V, D).
func (e *Dense) Size() (vocabulary, width int64) { return e.weight.Size(0), e.weight.Size(1) }

// Matrix is W without its history.
func (e *Dense) Matrix() torch.Tensor { return e.weight.Detach() }
