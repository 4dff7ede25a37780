package torch

import (
	"math"
	"time"
)

// Operations are floating point operations of matrix products, a multiplication and an addition each: those of a
// forward pass, and those of the backward pass behind it. Of all that training computes they are nearly everything.
type Operations struct{ Forward, Backward float64 }

// ProductOperations are those of a product of matrices [N,K] and [K,M] that both get gradients: the backward pass makes
// a product of the same size for each of the two.
func ProductOperations(n, k, m int64) Operations {
	one := 2 * float64(n) * float64(k) * float64(m)
	return Operations{one, 2 * one}
}

// Plus adds others up with o.
func (o Operations) Plus(others ...Operations) Operations {
	for _, other := range others {
		o.Forward += other.Forward
		o.Backward += other.Backward
	}
	return o
}

// Times multiplies by n.
func (o Operations) Times(n int64) Operations {
	return Operations{o.Forward * float64(n), o.Backward * float64(n)}
}

// AtOnce are the same ones in an operator that computes its gradient while it computes its value, as losses do.
func (o Operations) AtOnce() Operations { return Operations{Forward: o.All()} }

// Recomputed are those where the backward pass begins with another forward pass.
func (o Operations) Recomputed() Operations { return Operations{o.Forward, o.Backward + o.Forward} }

// All counts both passes.
func (o Operations) All() float64 { return o.Forward + o.Backward }

// PeakRate is the most operations a second that any of several products of two square matrices of this size reaches,
// with the present threads.
func PeakRate(d Device, dtype DType, size int64, tries int) float64 {
	scope := OpenScope()
	defer scope.Close()
	x := NewStream(1, "peak").Normal(0, 1, Float32, CPU, size, size).To(dtype, d)
	return ProductOperations(size, size, size).Forward / shortest(tries, func() Tensor { return x.MatMul(x) })
}

// CopyRate is the most bytes a second, read and written, that any of several copies of the given number of bytes
// reaches, with the present threads.
func CopyRate(d Device, bytes int64, tries int) float64 {
	scope := OpenScope()
	defer scope.Close()
	x, y := Zeros(Float32, d, bytes/4), Zeros(Float32, d, bytes/4)
	return 2 * float64(bytes) / shortest(tries, func() Tensor { y.Assign(x); return y })
}

// shortest is how many seconds the shortest try takes.
func shortest(tries int, f func() Tensor) float64 {
	best := math.Inf(1)
	NoGrad(func() {
		for range tries {
			start := time.Now()
			f().Reshape(-1).Narrow(0, 0, 1).To(Float32, CPU).Item() // which waits for it on every device
			best = math.Min(best, time.Since(start).Seconds())
		}
	})
	return best
}
