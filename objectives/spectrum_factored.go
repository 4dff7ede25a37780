package objectives

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Factored is W = U diag(s) V^T (Wang et al. 2020, "Improving neural language generation with spectrum control"): the
// singular values of W are parameters, as far as regularizers keep the columns of U and V orthonormal.
//
//	scores of h [N,D]     ((h V) * s) U^T
//	row i of W            V (s * u_i)
//
// so W is never made in a step. The parameter that is stored for U is U / c with c = sqrt(D/V), whose elements are as
// large as those of a dense matrix. Adam moves every element by about the learning rate, whatever its size, and would
// change the elements of U itself, about 1/sqrt(V), by a share that is sqrt(V/D) times as large.
//
// There are K = min(V, D) singular values; the padding's row does not count among the V. Cost beside a dense matrix: D
// K + K parameters, N D K multiplications for a lookup or the scores of N rows.
//
// Legend: V vocabulary, D width, K singular values, N hidden states, R rows.
type Factored struct {
	Start SpectrumStart // singular values at the start
	Prior Prior         // the values of StartPrior
	Gain  bool          // W times a trained number, for methods that fix the largest singular value

	u, s, v torch.Tensor // U / c [V,K], [K], [D,K]
	gain    torch.Tensor // [1], or the zero Tensor
	name    string       // prefix of the parameters' names
	c       float64
	padding int64
	energy  float64 // expected |W|_F^2 of a dense matrix at its start
	kept    *kept   // of the layer, whose rows are scored beside those of U; or nil
}

// SpectrumStart says with which singular values a factored embedding starts.
type SpectrumStart int

// The three starts.
const (
	StartPrior SpectrumStart = iota // orthonormal U and V, the prior's values: every penalty is 0
	StartSVD                        // the decomposition of the matrix that Dense draws, so W is the same
	StartFlat                       // orthonormal U and V, every value 1 (Jiang et al. 2019)
)

// Init makes the parameters <prefix>.u (U / c), .s and .v, and .gain where it is trained: it starts where |W|_F is that
// of a dense matrix. The padding's row of U is zero.
func (e *Factored) Init(p Config) error {
	scope := torch.OpenScope()
	defer scope.Close()
	e.padding, e.energy, e.name, e.kept = p.Padding, initialEnergy(p), p.Embedding, p.kept
	e.c = math.Sqrt(float64(p.Width) / float64(max(1, p.rows())))
	k := max(1, min(p.rows(), p.Width))
	var u_VK, s_K, v_DK torch.Tensor
	zeros := func(shape ...int64) torch.Tensor { return torch.Zeros(p.dtype(), p.Device, shape...) }
	switch {
	case p.Stream.IsUnset():
		u_VK, s_K, v_DK = zeros(p.Vocabulary, k), zeros(k), zeros(p.Width, k)
	case e.Start == StartSVD:
		u_VK, s_K, v_DK = decompose(initialMatrix(p), k)
	case e.Start == StartPrior || e.Start == StartFlat:
		u_VK = orthonormal(p.Stream.Normal(0, 1, torch.Float64, torch.CPU, p.Vocabulary, k).Mul(p.keepRows()))
		v_DK = orthonormal(p.draws().Normal(0, 1, torch.Float64, torch.CPU, p.Width, k))
		values := make([]float64, k)
		for i := range values {
			values[i] = 1
		}
		if e.Start == StartPrior {
			values = e.Prior.Values(int(k), e.energy)
		}
		s_K = torch.FromFloat64s(values, torch.CPU, k)
	default:
		return fmt.Errorf("there is no start of the spectrum numbered %d", e.Start)
	}
	add := func(name string, x torch.Tensor) torch.Tensor {
		return p.Params.Add(p.Embedding+name, x.To(p.dtype(), p.Device).Contiguous())
	}
	e.u, e.s, e.v = add(".u", u_VK.MulScalar(1/e.c)), add(".s", s_K), add(".v", v_DK)
	if e.Gain {
		gain := math.Sqrt(e.energy / math.Max(s_K.Square().Sum().Item(), 1e-30))
		e.gain = add(".gain", torch.Full(gain, torch.Float64, torch.CPU, 1))
	}
	p.report(func() map[string]float64 {
		u, v := e.Orthogonality()
		return map[string]float64{"orthogonality_u": u, "orthogonality_v": v}
	})
	return nil
}

// factors are what stands between the parameters of U and V: c s, times the gain.
func (e *Factored) factors() torch.Tensor {
	factors_K := e.s.MulScalar(e.c)
	if e.gain.Defined() {
		factors_K = factors_K.Mul(e.gain)
	}
	return factors_K
}

// decompose gives the K leading singular values and vectors of W: V comes
// from W^T W, whose size does not depend on the vocabulary, and U = W V / s.
func decompose(w_VD torch.Tensor, k int64) (u_VK, s_K, v_DK torch.Tensor) {
	_, vectors_DD := w_VD.Transpose(0, 1).MatMul(w_VD).Eigh()
	d := vectors_DD.Size(1)
	falling := make([]int64, k) // Eigh's columns rise
	for i := range falling {
		falling[i] = d - 1 - int64(i)
	}
	v_DK = vectors_DD.IndexSelect(1, torch.FromInt64s(falling, torch.CPU, k))
	scaled_VK := w_VD.MatMul(v_DK)
	s_K = scaled_VK.Norm(0, false)
	return scaled_VK.Div(s_K.ClampMin(1e-30)), s_K, v_DK
}

// Lookup gives rows V (s * u_i) of W. The factor of a row that embedding dropout
// applies may come after it, since the row is linear in u_i.
func (e *Factored) Lookup(ids torch.Tensor) torch.Tensor {
	return torch.Embedding(e.u, ids, e.padding).Mul(e.factors()).MatMul(e.v.Transpose(0, 1))
}

// Head scores by U after hidden states went through V and s.
func (e *Factored) Head() Head {
	return Head{
		Weight: e.u, Map: func(h_ND torch.Tensor) torch.Tensor { return h_ND.MatMul(e.v).Mul(e.factors()) },
		Rows: e.multiply,
	}
}

// Size is (V, D).
func (e *Factored) Size() (vocabulary, width int64) { return e.u.Size(0), e.v.Size(0) }

// Matrix makes W.
func (e *Factored) Matrix() torch.Tensor { return e.multiply(e.u) }

// multiply gives the rows of W that rows like those of the head's weight stand for.
func (e *Factored) multiply(rows_RK torch.Tensor) (w_RD torch.Tensor) {
	return torch.Evaluated(func() torch.Tensor { return rows_RK.Mul(e.factors()).MatMul(e.v.Transpose(0, 1)) })
}

// Operations are those of a product with V, for rows that are looked up and for hidden states that are scored.
func (e *Factored) Operations(w Work) torch.Operations {
	return torch.ProductOperations(w.Rows+w.Scored, e.v.Size(1), e.v.Size(0))
}

// products are the operations of one product of U with a matrix [K,K], and one of V.
func (e *Factored) products() float64 {
	k := e.u.Size(1)
	return torch.ProductOperations(e.u.Size(0)+e.v.Size(0), k, k).Forward
}
