package torch_test

import (
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestCoupledAdamEqualsPyTorch: the matrix steps by the mean second moment, and a parameter beside it as without.
func TestCoupledAdamEqualsPyTorch(t *testing.T) {
	torch.Test(t, func() {
		g, _, err := torch.ReadSafetensors("testdata/coupled_adam.safetensors", torch.CPU)
		if err != nil {
			t.Fatal(err)
		}
		o := torch.AdamOptions{Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8, WeightDecay: 0.1, Decoupled: true}
		words, beside, plain := torch.Parameter(g["start"].Clone()), torch.Parameter(g["start"].Clone()),
			torch.Parameter(g["start"].Clone())
		coupled := torch.NewAdam([]torch.Tensor{beside, words}, o)
		defer coupled.Free()
		coupled.Couple(words)
		other := torch.NewAdam([]torch.Tensor{plain}, o)
		defer other.Free()
		all := []torch.Tensor{words, beside, plain}
		defer torch.Free(all...)
		at := func(name string, step int64) torch.Tensor { return g[name].Narrow(0, step, 1).Reshape(31, 7) }
		for step := range g["gradients"].Size(0) {
			torch.ZeroGrad(all)
			for _, w := range all {
				w.Mul(at("gradients", step)).Sum().Backward()
			}
			coupled.Step(0.01)
			other.Step(0.01)
			near(t, "weights", words, at("weights", step))
			_, moment := coupled.Moments(1)
			near(t, "moments", moment, at("moments", step))
			near(t, "weights beside", beside, plain)
		}
	})
}
