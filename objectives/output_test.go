package objectives

import (
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestScalingDoesNotDependOnBatches cuts 4,000 tokens into one batch and into
// four: gradients, penalties included, are the same.
func TestScalingDoesNotDependOnBatches(t *testing.T) {
	for name, settings := range methods() {
		t.Run(name, func(t *testing.T) {
			torch.Test(t, func() {
				const n, v, d = 4000, 31, 7
				p := place(v, d, 1)
				o := layer(t, settings, p)
				defer release(o, p)
				s := torch.NewStream(2, "data")
				hidden := s.Normal(0, 1, torch.Float64, torch.CPU, n, d)
				targets := s.Uniform(0, v, torch.Float64, torch.CPU, n).To(torch.Int64, torch.CPU)
				update := func(batches int64) map[string][]float64 {
					for b := range batches {
						size := n / batches
						rows := States{Hidden: hidden.Narrow(0, b*size, size)}
						loss, _ := o.Loss(rows, targets.Narrow(0, b*size, size), 1.0/n)
						loss.Backward()
					}
					o.Penalize()
					return gradients(p)
				}
				whole := update(1)
				for parameter, g := range update(4) {
					// The vectors of power iteration have moved on by one update.
					limit := 1e-12
					if len(o.Buffers()) > 0 {
						limit = 1e-2
					}
					near(t, parameter, g, whole[parameter], limit)
				}
			})
		})
	}
}

// TestLogitsOfFactors compares scores, losses and lookups with those of W.
func TestLogitsOfFactors(t *testing.T) {
	for _, size := range [][2]int64{{47, 4}, {31, 31}, {5, 8}, {3, 1}} {
		torch.Test(t, func() {
			p := place(size[0], size[1], 0)
			settings := Defaults()
			settings.Method = "spectrum"
			o := layer(t, settings, p)
			defer release(o, p)
			s := torch.NewStream(3, "data")
			// Away from the start, where U and V are orthonormal.
			torch.NoGrad(func() {
				for _, x := range p.Params.Tensors() {
					x.Assign(x.Add(s.Normal(0, 0.1, torch.Float64, torch.CPU, x.Shape()...)))
				}
			})
			w := o.Embedding().Matrix()
			h := s.Normal(0, 1, torch.Float64, torch.CPU, 11, size[1])
			near(t, "log-probabilities", o.LogProbs(h).Float64s(), torch.Linear(h, w, torch.Tensor{}).LogSoftmax(1).Float64s(), 1e-12)
			ids := s.Uniform(0, float64(size[0]), torch.Float64, torch.CPU, 3, 5).To(torch.Int64, torch.CPU)
			near(t, "lookup", o.Lookup(ids).Float64s(), torch.Embedding(w, ids, -1).Float64s(), 1e-12)
			near(t, "singular values", o.Embedding().SingularValues().Float64s()[:1], w.SingularValues().Float64s()[:1], 1e-12)
		})
	}
}
