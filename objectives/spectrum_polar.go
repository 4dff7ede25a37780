package objectives

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// The polar decomposition x = q p of a matrix [R,K]: q = x (x^T x)^(-1/2) has orthonormal columns, and no other such
// matrix is nearer to x; p = (x^T x)^(1/2) [K,K]. It comes from the eigenvectors of x^T x: two products of R K^2
// multiplications, and K^3 for what does not depend on R. Unlike the Q of a QR decomposition it treats columns alike:
// column k of q is still the one that belongs to s_k, and the last columns do not pay for the first.

// roots gives p and its inverse for x^T x [K,K], in float64 on the CPU. The two stay inverse to each other.
func roots(gram torch.Tensor) (root, inverse torch.Tensor) {
	values, vectors := rightSingular(gram)
	back := vectors.Transpose(0, 1)
	return vectors.Mul(values).MatMul(back), vectors.Div(values).MatMul(back)
}

// rightSingular gives the singular values of x [K] and the directions that they belong to, its right singular
// vectors [K,K], for x^T x, in float64 on the CPU. A direction in which x vanishes, as
// far as its type can tell, is stretched by no less than that precision allows.
func rightSingular(gram torch.Tensor) (values, vectors torch.Tensor) {
	precision := 0x1p-52
	if gram.DType() != torch.Float64 {
		precision = 0x1p-23
	}
	values, vectors = gram.To(torch.Float64, torch.CPU).Eigh()
	largest := 0.0
	if k := values.Count(); k > 0 {
		largest = values.Narrow(0, k-1, 1).Item()
		precision *= float64(k)
	}
	return values.ClampMin(math.Max(largest*precision, 1e-30)).Pow(0.5), vectors
}

// orthonormal is the polar factor of x [R,K], in float64 on the CPU: for a Gaussian x it is uniform among all matrices
// with orthonormal columns, and zero rows stay zero. The second pass takes away the first one's rounding.
func orthonormal(x torch.Tensor) torch.Tensor {
	for range 2 {
		_, inverse := roots(x.Gram())
		x = x.MatMul(inverse)
	}
	return x
}

// retract makes the columns of c x orthonormal, for a parameter x [R,K].
func retract(x torch.Tensor, c float64) {
	torch.NoGrad(func() {
		_, inverse := roots(x.Gram())
		x.Assign(x.MatMul(inverse.MulScalar(1/c).To(x.DType(), x.Device())))
	})
}

// proximalToPolar moves c x, for a parameter x [R,K], towards its polar factor q: where w and spectral are the weights
// of |x - q|_F^2 / 2 and of the square of its largest singular value / 2, this is their proximal step, which leaves the
// singular vectors and takes each singular value a to (a + w) / (1 + w).
func proximalToPolar(x torch.Tensor, c, w, spectral float64) {
	torch.NoGrad(func() {
		values, vectors := rightSingular(x.Gram())
		a := values.MulScalar(c).Float64s()
		last := 0
		for k, value := range a {
			if math.Abs(value-1) > math.Abs(a[last]-1) {
				last = k
			}
		}
		for k, value := range a {
			weight := w
			if k == last {
				weight += spectral
			}
			a[k] = (1 + weight/value) / (1 + weight)
		}
		m := vectors.Mul(torch.FromFloat64s(a, torch.CPU, int64(len(a)))).MatMul(vectors.Transpose(0, 1))
		x.Assign(x.MatMul(m.To(x.DType(), x.Device())))
	})
}

// Orthogonality gives |U^T U - I|_F and |V^T V - I|_F.
func (e *Factored) Orthogonality() (u, v float64) {
	scope := torch.OpenScope()
	defer scope.Close()
	distance := func(x torch.Tensor, c float64) float64 {
		var square float64
		torch.NoGrad(func() {
			o := torch.OrthogonalityOptions{Frobenius: 1, Scale: c}
			square = torch.Orthogonality(x, torch.Tensor{}, o).Item()
		})
		return math.Sqrt(square)
	}
	return distance(e.u, e.c), distance(e.v, 1)
}

// FixAverage writes the W of averaged parameters, by name, as U diag(s) V^T with orthonormal columns again. A mean of
// U, s and V is a matrix as good as any, but the mean of orthonormal columns is shorter than 1, and s is then not its
// spectrum. With the polar decompositions U = Q P and V = R T, the singular value decomposition A diag(s') B^T of the
// small matrix P diag(s) T gives the same W as (Q A) diag(s') (R B)^T, s' falling: what the model says does not change.
// Rows that are scored beside those of U, an adaptive softmax's clusters, go the way of U.
func (e *Factored) FixAverage(weights map[string]torch.Tensor) {
	torch.ScopedNoGrad(func() {
		u, s, v := weights[e.name+".u"].Detach(), weights[e.name+".s"].Detach(), weights[e.name+".v"].Detach()
		p, unP := roots(u.Gram().MulScalar(e.c * e.c))
		t, unT := roots(v.Gram())
		a, values, bT := p.Mul(s.To(torch.Float64, torch.CPU)).MatMul(t).SVD()
		ofU := unP.MatMul(a).To(u.DType(), u.Device())
		u.Assign(u.MatMul(ofU))
		for _, rows := range e.kept.beside(weights) {
			rows = rows.Detach()
			rows.Assign(rows.MatMul(ofU))
		}
		v.Assign(v.MatMul(unT.MatMul(bT.Transpose(0, 1)).To(v.DType(), v.Device())))
		s.Assign(values)
	})
}
