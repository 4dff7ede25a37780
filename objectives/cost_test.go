package objectives

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/torch"
)

// BenchmarkMethods makes what an update does in the output layer, by each method and by mle in turn: the loss of a
// batch of 1,000 targets and its gradients, penalties and constraints. time/mle is the median of the ratios of their
// processor times, with the smallest and the largest; other programs change these little.
func BenchmarkMethods(b *testing.B) {
	for _, size := range []struct{ v, d int64 }{{1000, 128}, {10000, 256}} {
		for _, m := range methods[1:] {
			if !m.Needs.WordTargets {
				b.Run(fmt.Sprintf("%s/V=%d", m.Name, size.v), func(b *testing.B) {
					torch.Do(func() { benchmarkMethod(b, m.Name, size.v, size.d) })
				})
			}
		}
	}
}

func benchmarkMethod(b *testing.B, name string, v, d int64) {
	const n, columns = 1000, 40
	scope := torch.OpenScope()
	defer scope.Close()
	stream := torch.NewStream(4, "data")
	hidden := stream.Normal(0, 1, torch.Float32, device, n, d)
	u := stream.Uniform(0, 1, torch.Float64, torch.CPU, n) // words fall in frequency, as in a text
	targets := u.Square().Mul(u).MulScalar(float64(v)).To(torch.Int64, torch.CPU)
	column := make([]int64, n)
	for i := range column {
		column[i] = int64(i) % columns
	}
	timed := func(name string) (update func() float64, free func()) {
		s := Defaults()
		s.Method = name
		p := config(v, d, -1)
		p.DType = torch.Float32
		o, err := New(s, p)
		if err != nil {
			b.Fatal(err)
		}
		return func() float64 {
			start := fixtures.ProcessorTime()
			step := torch.OpenScope()
			defer step.Close()
			states := torch.States{Hidden: leaf(hidden, torch.Float32), Column: column, Columns: columns}
			loss, _ := o.Loss(states, targets, 1.0/n)
			loss.Backward()
			o.Penalize()
			torch.ZeroGrad(p.Params.Tensors())
			o.Constrain(1e-3)
			return (fixtures.ProcessorTime() - start).Seconds()
		}, func() { release(o, p) }
	}
	ours, free := timed(name)
	defer free()
	control, free := timed(mle.Name)
	defer free()
	ours()
	control()
	var ratios []float64
	for b.Loop() {
		ratios = append(ratios, ours()/control())
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "time/mle")
	b.ReportMetric(ratios[0], "least")
	b.ReportMetric(ratios[len(ratios)-1], "most")
}
