package vectors

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// The projection has this many columns beyond those that are asked for, and is multiplied
// by the matrix and its transpose this many times, which turns it towards the leading
// singular vectors (Halko, Martinsson and Tropp 2011, algorithm 4.4).
const (
	oversampling = 20
	powerSteps   = 2
)

// decompose gives the leading left singular vectors [V,width], row by row, and the singular
// values, falling. The sign of each vector is such that its largest component is positive.
func (m *sparse) decompose(width int, seed uint64) (u, values []float64) {
	v := m.size()
	l := min(width+oversampling, v)
	r := rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15))
	x := blas64.General{Rows: v, Cols: l, Stride: l, Data: make([]float64, v*l)}
	for i := range x.Data {
		x.Data[i] = r.NormFloat64()
	}
	y := blas64.General{Rows: v, Cols: l, Stride: l, Data: make([]float64, v*l)}
	m.multiply(m.forward, x, y)
	orthonormalize(y)
	for range powerSteps {
		m.multiply(m.backward, y, x)
		m.multiply(m.forward, x, y)
		orthonormalize(y)
	}
	// With Q = y, B^T = M^T Q and B B^T = R diag(s^2) R^T, the singular vectors are Q R.
	m.multiply(m.backward, y, x)
	gram := blas64.Symmetric{N: l, Stride: l, Data: make([]float64, l*l), Uplo: blas.Upper}
	blas64.Syrk(blas.Trans, 1, x, 0, gram)
	var eigen mat.EigenSym
	symmetric := mat.NewSymDense(l, nil)
	symmetric.SetRawSymmetric(gram)
	if !eigen.Factorize(symmetric, true) {
		panic("the eigenvalues of a finite symmetric matrix were not found")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	squares := eigen.Values(nil) // rising
	leading := blas64.General{Rows: l, Cols: width, Stride: width, Data: make([]float64, l*width)}
	values = make([]float64, width)
	for k := range width {
		values[k] = math.Sqrt(max(0, squares[l-1-k]))
		for i := range l {
			leading.Data[i*width+k] = vectors.At(i, l-1-k)
		}
	}
	out := blas64.General{Rows: v, Cols: width, Stride: width, Data: make([]float64, v*width)}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, y, leading, 0, out)
	fixSigns(out)
	return out.Data, values
}

// multiply sets y to the matrix with those values times x: each row by one goroutine, so that
// the sums do not depend on how many there are.
func (m *sparse) multiply(values []float32, x, y blas64.General) {
	var wait sync.WaitGroup
	rows := make(chan [2]int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for part := range rows {
				for i := part[0]; i < part[1]; i++ {
					out := y.Data[i*y.Stride : i*y.Stride+y.Cols]
					clear(out)
					for k := m.at[i]; k < m.at[i+1]; k++ {
						if w := values[k]; w != 0 {
							j := int(m.columns[k])
							floats.AddScaled(out, float64(w), x.Data[j*x.Stride:j*x.Stride+x.Cols])
						}
					}
				}
			}
		})
	}
	const part = 256
	for i := 0; i < m.size(); i += part {
		rows <- [2]int{i, min(i+part, m.size())}
	}
	close(rows)
	wait.Wait()
}

// orthonormalize turns the columns of x into an orthonormal basis of what they span.
func orthonormalize(x blas64.General) {
	tau, size := make([]float64, x.Cols), make([]float64, 1)
	lapack64.Geqrf(x, tau, size, -1)
	work := make([]float64, max(int(size[0]), x.Cols))
	lapack64.Geqrf(x, tau, work, len(work))
	lapack64.Orgqr(x, tau, size, -1)
	if n := int(size[0]); n > len(work) {
		work = make([]float64, n)
	}
	lapack64.Orgqr(x, tau, work, len(work))
}

func fixSigns(x blas64.General) {
	for k := range x.Cols {
		largest := 0.0
		for i := range x.Rows {
			if a := x.Data[i*x.Stride+k]; math.Abs(a) > math.Abs(largest) {
				largest = a
			}
		}
		if largest < 0 {
			for i := range x.Rows {
				x.Data[i*x.Stride+k] *= -1
			}
		}
	}
}
