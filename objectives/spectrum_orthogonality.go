package objectives

import "github.com/aperture-ml/aperture/torch"

// Orthogonality keeps the columns of U and V orthonormal (Wang et al. 2020): with E_X = X^T X - I,
//
//	U |E_U|_F^2 + V |E_V|_F^2 + USpectral |E_U|_2^2 + VSpectral |E_V|_2^2.
//
// The spectral norms come from power iteration on kept vectors, a few steps per update, never from a decomposition.
// Cost: up to two products of V D^2 multiplications per update, whichever terms are on.
type Orthogonality struct {
	OrthogonalityWeights

	sides []orthogonalSide
}

// OrthogonalityWeights are those of the four terms.
type OrthogonalityWeights struct {
	U, V                 float64 // of the squared Frobenius norms
	USpectral, VSpectral float64 // of the squared spectral norms
}

type orthogonalSide struct {
	matrix, vector torch.Tensor // the parameter [R,K], and [K] where the spectral norm counts
	options        torch.OrthogonalityOptions
}

// Steps of power iteration per update: each costs K^2 multiplications, nothing
// beside the V K^2 of the Gram matrix, and the matrix moves little in an update.
const powerIterations = 4

// Init draws the vectors of power iteration.
func (r *Orthogonality) Init(e Embedding, p Config) error {
	f, err := factored(e, "orthogonality")
	if err != nil {
		return err
	}
	r.sides = nil
	add := func(x torch.Tensor, scale float64, name string, frobenius, spectral float64) {
		if frobenius == 0 && spectral == 0 {
			return
		}
		side := orthogonalSide{matrix: x, options: torch.OrthogonalityOptions{
			Frobenius: frobenius, Spectral: spectral, Iterations: powerIterations, Scale: scale,
		}}
		if spectral != 0 {
			scope := torch.OpenScope()
			defer scope.Close()
			v := p.draws().Normal(0, 1, p.dtype(), p.Device, x.Size(1))
			side.vector = v.Div(v.Norm(0, true))
			p.buffer(p.Embedding+name, side.vector)
		}
		r.sides = append(r.sides, side)
	}
	add(f.u, f.c, ".u_direction", r.U, r.USpectral)
	add(f.v, 1, ".v_direction", r.V, r.VSpectral)
	return nil
}

// active reports whether any term has a weight.
func (w OrthogonalityWeights) active() bool {
	return w.U > 0 || w.V > 0 || w.USpectral > 0 || w.VSpectral > 0
}

// Name is "orthogonality".
func (r *Orthogonality) Name() string { return "orthogonality" }

// Penalty is the weighted sum of the four terms.
func (r *Orthogonality) Penalty() torch.Tensor {
	var sum torch.Tensor
	for _, side := range r.sides {
		term := torch.Orthogonality(side.matrix, side.vector, side.options)
		if sum.Defined() {
			term = sum.Add(term)
		}
		sum = term
	}
	return sum
}

// Operations are two products for each side.
func (r *Orthogonality) Operations(Work) (all torch.Operations) {
	for _, side := range r.sides {
		k := side.matrix.Size(1)
		one := torch.ProductOperations(side.matrix.Size(0), k, k).Forward
		all = all.Plus(torch.Operations{Forward: one, Backward: one})
	}
	return all
}
