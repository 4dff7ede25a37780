package torch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

func leaf(values ...float32) torch.Tensor {
	x := torch.FromFloat32s(values, device, int64(len(values)))
	x.SetRequiresGrad(true)
	return x
}

func TestGradientsAddUpUntilDropped(t *testing.T) {
	torch.Test(t, func() {
		x := leaf(1, 2)
		if x.Grad().Defined() {
			t.Error("a new leaf has a gradient")
		}
		x.Square().Sum().Backward()
		first := x.Grad()
		x.Square().Sum().Backward()
		if got := x.Grad().Float32s(); !slices.Equal(got, []float32{4, 8}) {
			t.Errorf("after two passes the gradient is %v", got)
		}
		torch.ZeroGrad([]torch.Tensor{x})
		torch.ZeroGrad([]torch.Tensor{x})
		torch.ZeroGrad(nil)
		if x.Grad().Defined() {
			t.Error("a dropped gradient is there")
		}
		if !first.Defined() || len(first.Float32s()) != 2 {
			t.Error("dropping a gradient freed somebody's handle of it")
		}
		x.Sum().Backward()
		if got := x.Grad().Float32s(); !slices.Equal(got, []float32{1, 1}) {
			t.Errorf("after dropping, the gradient is %v", got)
		}
	})
}

func TestNoGradAndDetach(t *testing.T) {
	torch.Test(t, func() {
		x := leaf(1, 2)
		var y torch.Tensor
		torch.NoGrad(func() {
			torch.NoGrad(func() {})
			y = x.Square()
		})
		if y.RequiresGrad() || x.Detach().RequiresGrad() || !x.Square().RequiresGrad() {
			t.Error("NoGrad or Detach records, or recording did not come back")
		}
		func() {
			defer func() { _ = recover() }()
			torch.NoGrad(func() { panic("stop") })
		}()
		if !x.Square().RequiresGrad() {
			t.Error("after a panic nothing is recorded")
		}
		if text := failure(t, func() { y.Sum().Backward() }).Error(); !strings.HasPrefix(text, "Backward of shapes []: ") {
			t.Errorf("the error is %q", text)
		}
		z := x.Square().Sum()
		z.Backward()
		failure(t, z.Backward)
		x.Assign(torch.Full(5, torch.Float32, device, 1))
		x.Detach().AssignFloat32s([]float32{7, 8})
		if got := x.Float32s(); !slices.Equal(got, []float32{7, 8}) || !x.RequiresGrad() {
			t.Errorf("assignment gave %v", got)
		}
	})
}

// TestChangedValuesAreNoticed: a weight that was changed between the passes would
// give a wrong gradient.
func TestChangedValuesAreNoticed(t *testing.T) {
	torch.Test(t, func() {
		x := leaf(1, 2)
		y := x.Mul(x).Sum()
		x.AssignFloat32s([]float32{3, 4})
		if text := failure(t, y.Backward).Error(); !strings.Contains(text, "modified by an inplace operation") {
			t.Errorf("the error is %q", text)
		}
	})
}

func TestAutocast(t *testing.T) {
	torch.Test(t, func() {
		w := torch.NewStream(1, "w").Normal(0, 1, torch.Float32, device, 7, 31)
		x := torch.NewStream(1, "x").Normal(0, 1, torch.Float32, device, 4, 31)
		w.SetRequiresGrad(true)
		product := func() torch.Tensor { return torch.Linear(x, w, torch.Tensor{}) }
		typed := func(where string, want torch.DType) {
			t.Helper()
			if got, operand := product().DType(), torch.Operand(x).DType(); got != want || operand != want {
				t.Errorf("%s the product is %v and its operand %v, want %v", where, got, operand, want)
			}
		}
		torch.Autocast(true, device, func() {
			typed("inside", torch.BFloat16)
			torch.Autocast(true, device, func() { typed("inside twice", torch.BFloat16) })
			typed("after an inner one", torch.BFloat16)
			torch.Autocast(false, device, func() { typed("switched off inside", torch.Float32) })
			typed("after one switched off", torch.BFloat16)
		})
		typed("outside", torch.Float32)
		torch.Autocast(false, device, func() { typed("not enabled", torch.Float32) })
		failure(t, func() { torch.Autocast(true, device, func() { product().Reshape(5) }) })
		typed("after an error", torch.Float32)

		// The pass backward belongs outside; gradients have the weight's type.
		product().Sum().Backward()
		want := w.Grad()
		torch.ZeroGrad([]torch.Tensor{w})
		var y torch.Tensor
		torch.Autocast(true, device, func() {
			torch.NoGrad(func() { product() }) // must not leave a copy of w without history
			y = product()
		})
		y.Sum().Backward()
		if w.Grad().DType() != torch.Float32 {
			t.Errorf("the gradient is %v", w.Grad().DType())
		}
		nearWithin(t, "gradient", w.Grad(), want, 0.02)

		// A weight that changes is converted again.
		torch.Autocast(true, device, func() { y = product() })
		w.Assign(torch.Zeros(torch.Float32, device, 1))
		torch.Autocast(true, device, func() { y = product() })
		if y.Float32s()[0] != 0 {
			t.Error("a converted weight outlived its value")
		}
	})
}

// TestSoftmaxLossUnderAutocast: operands of either type, products in bfloat16,
// losses and gradients of weights in float32.
func TestSoftmaxLossUnderAutocast(t *testing.T) {
	torch.Test(t, func() {
		draw := torch.NewStream(1, "draw")
		h, w := draw.Normal(0, 1, torch.Float32, device, 47, 31), draw.Normal(0, 0.3, torch.Float32, device, 101, 31)
		b := draw.Normal(0, 0.3, torch.Float32, device, 101)
		y := draw.Uniform(0, 101, torch.Float64, device, 47).To(torch.Int64, device)
		leaves := []torch.Tensor{h, w, b}
		for _, x := range leaves {
			x.SetRequiresGrad(true)
		}
		run := func(autocast bool, hidden torch.DType) []torch.Tensor {
			torch.ZeroGrad(leaves)
			var loss, nll torch.Tensor
			torch.Autocast(autocast, device, func() {
				loss, nll = torch.SoftmaxLoss(h.To(hidden, device), w, b, y,
					torch.SoftmaxLossOptions{Ignore: 3, Epsilon: 0.1, Scale: 0.5, Chunk: 10})
			})
			loss.Backward()
			return []torch.Tensor{loss, nll, h.Grad(), w.Grad(), b.Grad()}
		}
		want := run(false, torch.Float32)
		for _, hidden := range []torch.DType{torch.Float32, torch.BFloat16} {
			for i, got := range run(true, hidden) {
				if got.DType() != torch.Float32 {
					t.Errorf("%s is %v", lossResults[i], got.DType())
				}
				nearWithin(t, "with hidden states of "+hidden.String()+", "+lossResults[i], got, want[i], 0.03)
			}
		}
		residual := func() torch.Tensor {
			return torch.ResidualNorm(torch.Linear(h, w.Narrow(0, 0, 31), torch.Tensor{}), h, b.Narrow(0, 0, 31),
				b.Narrow(0, 31, 31), 1e-5, 0.1, torch.NewStream(1, "dropout"))
		}
		plain := residual()
		torch.Autocast(true, device, func() { nearWithin(t, "residual connection", residual(), plain, 0.03) })
	})
}
