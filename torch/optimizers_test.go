package torch_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// Golden optimizers that the package does not have.
var unusedOptimizers = []string{"asgd", "asgd_late", "sgd_momentum", "sgd_nesterov"}

type optimizerSettings struct {
	Betas       [2]float64
	Eps         float64
	WeightDecay float64 `json:"weight_decay"`
}

// setGrad gives x the gradient g: the derivative of sum(x * g).
func setGrad(x, g torch.Tensor) {
	torch.ZeroGrad([]torch.Tensor{x})
	x.Mul(g).Sum().Backward()
}

// row is entry i along the first dimension, without it.
func row(x torch.Tensor, i int) torch.Tensor {
	return x.Narrow(0, int64(i), 1).Reshape(x.Shape()[1:]...)
}

// TestOptimizersEqualPyTorch takes the ten golden updates of each optimizer and
// compares parameters and moments after every one.
func TestOptimizersEqualPyTorch(t *testing.T) {
	adam := func(o optimizerSettings) torch.AdamOptions {
		return torch.AdamOptions{Beta1: o.Betas[0], Beta2: o.Betas[1], Epsilon: o.Eps, WeightDecay: o.WeightDecay}
	}
	decoupled := func(o torch.AdamOptions) torch.AdamOptions { o.Decoupled = true; return o }
	fairseq := func(o torch.AdamOptions) torch.AdamOptions { o.FairseqEpsilon = true; return decoupled(o) }
	rectified := func(o torch.AdamOptions) torch.AdamOptions { o.Rectified = true; return fairseq(o) }
	same := func(o torch.AdamOptions) torch.AdamOptions { return o }
	adams := map[string]func(torch.AdamOptions) torch.AdamOptions{
		"adam": same, "adam_large_eps": same, "adam_l2": same, "adamw": decoupled, "fairseq_adam": fairseq,
		"fairseq_adam_decay": fairseq,
		"radam":              rectified, "radam_decay": rectified,
	}
	var names []string
	torch.Test(t, func() {
		tensors, _ := golden(t, "optimizers.safetensors")
		for name := range tensors {
			if kind, what, _ := strings.Cut(name, "/"); what == "rate" && !slices.Contains(unusedOptimizers, kind) {
				names = append(names, kind)
			}
		}
	})
	slices.Sort(names)
	if len(names) != len(adams)+2 {
		t.Fatalf("the golden optimizers are %v", names)
	}
	for _, name := range names {
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
			t.Run(name+"/"+dtype.String(), func(t *testing.T) {
				torch.Test(t, func() {
					g, notes := golden(t, "optimizers.safetensors")
					var o optimizerSettings
					if err := json.Unmarshal([]byte(notes[name]), &o); err != nil {
						t.Fatal(err)
					}
					keys := []string{"a", "b"}
					var params []torch.Tensor
					for _, key := range keys {
						params = append(params, torch.Parameter(g["start/"+key].To(dtype, device).Clone()))
					}
					defer torch.Free(params...)
					var state *torch.Adam
					step := func(rate float64) { torch.SGD(params, rate, o.WeightDecay) }
					if variant, isAdam := adams[name]; isAdam {
						state = torch.NewAdam(params, variant(adam(o)))
						defer state.Free()
						step = state.Step
					} else if !strings.HasPrefix(name, "sgd") {
						t.Fatalf("the golden optimizer %s is not known", name)
					}
					for update, rate := range g[name+"/rate"].Float64s() {
						for i, key := range keys {
							setGrad(params[i], row(g["gradients/"+key], update).To(dtype, device))
						}
						step(rate)
						for i, key := range keys {
							near(t, "parameter "+key, params[i], row(g[name+"/"+key], update))
							if state == nil {
								continue
							}
							mean, variance := state.Moments(i)
							near(t, "mean of "+key, mean, row(g[name+"/exp_avg/"+key], update))
							near(t, "variance of "+key, variance, row(g[name+"/exp_avg_sq/"+key], update))
						}
						if t.Failed() {
							t.Fatalf("after update %d", update+1)
						}
					}
				})
			})
		}
	}
}

func TestClipGradEqualsPyTorch(t *testing.T) {
	torch.Test(t, func() {
		g, _ := golden(t, "optimizers.safetensors")
		for _, name := range []string{"above", "below", "equal", "zero"} {
			var params []torch.Tensor
			for _, key := range []string{"a", "b"} {
				in := g["clip/"+name+"/in/"+key]
				x := torch.Zeros(torch.Float64, device, in.Shape()...)
				x.SetRequiresGrad(true)
				setGrad(x, in)
				params = append(params, x)
			}
			largest, norm := g["clip/"+name+"/largest"].Item(), g["clip/"+name+"/norm"].Item()
			for _, limit := range []float64{0, -1} {
				if got := torch.ClipGrad(params, limit).Item(); math.Abs(got-norm) > 1e-12 {
					t.Errorf("%s: the norm measured with limit %v is %v, want %v", name, limit, got, norm)
				}
			}
			if got := torch.ClipGrad(params, largest).Item(); math.Abs(got-norm) > 1e-12 {
				t.Errorf("%s: the norm is %v, want %v", name, got, norm)
			}
			near(t, name+": a", params[0].Grad(), g["clip/"+name+"/out/a"])
			near(t, name+": b", params[1].Grad(), g["clip/"+name+"/out/b"])
		}
	})
}

// TestClipGradOfManyAndLargeGradients: in float32 the norm of the many would be too small, and that of the large ones
// infinite. The number of threads changes nothing.
func TestClipGradOfManyAndLargeGradients(t *testing.T) {
	defer torch.SetThreads(0)
	torch.Test(t, func() {
		parameter := func(g torch.Tensor) torch.Tensor {
			x := torch.Zeros(g.DType(), device, g.Shape()...)
			x.SetRequiresGrad(true)
			setGrad(x, g)
			return x
		}
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32, torch.BFloat16, torch.Float16} {
			// The number of elements ends within a lane and within a piece.
			x := parameter(torch.Full(0.1, dtype, device, 1003, 1009))
			want := x.Grad().Narrow(0, 0, 1).Narrow(1, 0, 1).To(torch.Float64, device).Item() * math.Sqrt(1003*1009)
			torch.SetThreads(1)
			single := torch.ClipGrad([]torch.Tensor{x}, 0).Item()
			torch.SetThreads(3)
			if several := torch.ClipGrad([]torch.Tensor{x}, 0).Item(); single != several && device == torch.CPU {
				t.Errorf("%s: the norm is %v with one thread and %v with three", dtype, single, several)
			}
			if !(math.Abs(single/want-1) < 1e-6) {
				t.Errorf("%s: the norm is %v, want %v", dtype, single, want)
			}
		}
		x := parameter(torch.Full(1e19, torch.Float32, device, 100))
		if norm := torch.ClipGrad([]torch.Tensor{x}, 1).Item(); !(math.Abs(norm/1e20-1) < 1e-6) {
			t.Errorf("the norm is %v, want 1e20", norm)
		}
		near(t, "the gradient", x.Grad(), torch.Full(0.1, torch.Float32, device, 100))
	})
}

// TestClipGradOfNonFiniteGradients: the norm says so, and gradients stay as they
// are for whoever looks for the cause.
func TestClipGradOfNonFiniteGradients(t *testing.T) {
	torch.Test(t, func() {
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			x, y := torch.Zeros(torch.Float32, device, 3), torch.Zeros(torch.Float32, device, 2)
			x.SetRequiresGrad(true)
			y.SetRequiresGrad(true)
			setGrad(x, torch.FromFloat32s([]float32{1, float32(bad), 3}, device, 3))
			setGrad(y, torch.FromFloat32s([]float32{30, 40}, device, 2))
			norm := torch.ClipGrad([]torch.Tensor{x, y}, 1).Item()
			if math.IsNaN(bad) != math.IsNaN(norm) || math.IsInf(bad, 1) != math.IsInf(norm, 1) {
				t.Errorf("the norm with a %v is %v", bad, norm)
			}
			if got := y.Grad().Float64s(); got[0] != 30 || got[1] != 40 {
				t.Errorf("with a %v in the norm the gradients became %v", bad, got)
			}
		}
		if norm := torch.ClipGrad(nil, 1).Item(); norm != 0 {
			t.Errorf("the norm of nothing is %v", norm)
		}
		free := torch.Zeros(torch.Float32, device, 3)
		free.SetRequiresGrad(true)
		if norm := torch.ClipGrad([]torch.Tensor{free}, 1).Item(); norm != 0 {
			t.Errorf("the norm of a parameter without gradient is %v", norm)
		}
	})
}

// TestParametersWithoutGradient: no optimizer touches one, not even to decay it.
func TestParametersWithoutGradient(t *testing.T) {
	torch.Test(t, func() {
		used, unused := torch.Full(1, torch.Float32, device, 2), torch.Full(1, torch.Float32, device, 3)
		params := []torch.Tensor{unused, used}
		for _, x := range params {
			x.SetRequiresGrad(true)
		}
		state := torch.NewAdam(params, torch.AdamOptions{Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-8, WeightDecay: 0.5,
			Decoupled: true})
		defer state.Free()
		state.Step(0.1) // none has a gradient yet
		setGrad(used, torch.Full(1, torch.Float32, device, 2))
		state.Step(0.1)
		torch.SGD(params, 0.1, 0.5)
		for _, v := range unused.Float64s() {
			if v != 1 {
				t.Errorf("a parameter without gradient became %v", v)
			}
		}
		if v := used.Float64s()[0]; !(v < 1) {
			t.Errorf("a parameter with a gradient stayed at %v", v)
		}
		mean, variance := state.Moments(0)
		if mean.Float64s()[0] != 0 || variance.Float64s()[0] != 0 {
			t.Error("the moments of a parameter without gradient moved")
		}
	})
}

// TestZeroGradient: Adam divides zero by epsilon, never by zero.
func TestZeroGradient(t *testing.T) {
	torch.Test(t, func() {
		x := torch.Full(2, torch.Float32, device, 5)
		x.SetRequiresGrad(true)
		state := torch.NewAdam([]torch.Tensor{x}, torch.AdamOptions{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8})
		defer state.Free()
		for range 3 {
			setGrad(x, torch.Zeros(torch.Float32, device, 5))
			state.Step(0.1)
		}
		for _, v := range x.Float64s() {
			if v != 2 {
				t.Fatalf("a gradient of zero moved the weight to %v", v)
			}
		}
	})
}

// TestParametersInAnotherOrder: optimizers walk through memory, so a parameter
// that came as a transposed or a narrowed tensor must be laid out anew.
func TestParametersInAnotherOrder(t *testing.T) {
	torch.Test(t, func() {
		base := torch.Arange(12, device).To(torch.Float32, device).Reshape(3, 4)
		turned := torch.Parameter(base.Transpose(0, 1))
		cut := torch.Parameter(base.Narrow(1, 1, 2))
		defer torch.Free(turned, cut)
		params := []torch.Tensor{turned, cut}
		plain := []torch.Tensor{
			torch.Parameter(torch.FromFloat32s(turned.Float32s(), device, 4, 3)),
			torch.Parameter(torch.FromFloat32s(cut.Float32s(), device, 3, 2)),
		}
		defer torch.Free(plain...)
		before := base.Float32s()
		for _, list := range [][]torch.Tensor{params, plain} {
			state := torch.NewAdam(list, torch.AdamOptions{Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-8})
			for step := range 3 {
				for _, x := range list {
					// The gradient of a product by a transposed matrix arrives transposed.
					torch.ZeroGrad([]torch.Tensor{x})
					x.Transpose(0, 1).MatMul(x).Square().MulScalar(float64(step + 1)).Sum().Backward()
				}
				state.Step(0.01)
			}
			state.Free()
		}
		for i := range params {
			near(t, "parameter", params[i], plain[i])
		}
		if !slices.Equal(base.Float32s(), before) {
			t.Error("an update of a narrowed parameter reached the tensor that it was cut from")
		}
	})
}

// TestAdamContinues: moments and step count are all of its state.
func TestAdamContinues(t *testing.T) {
	torch.Test(t, func() {
		draw := torch.NewStream(3, "gradients")
		options := torch.AdamOptions{Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-9, FairseqEpsilon: true, Decoupled: true,
			WeightDecay: 0.1}
		x := torch.Parameter(draw.Normal(0, 1, torch.Float32, device, 4, 31))
		defer torch.Free(x)
		first := torch.NewAdam([]torch.Tensor{x}, options)
		defer first.Free()
		update := func(a *torch.Adam, x torch.Tensor, offset uint64) {
			draw.Offset = offset
			setGrad(x, draw.Normal(0, 1, torch.Float32, device, 4, 31))
			a.Step(0.01)
		}
		update(first, x, 10)
		update(first, x, 11)

		y := torch.Parameter(x.Detach().Clone())
		defer torch.Free(y)
		second := torch.NewAdam([]torch.Tensor{y}, options)
		defer second.Free()
		second.Steps = first.Steps
		m, v := first.Moments(0)
		m2, v2 := second.Moments(0)
		m2.Assign(m)
		v2.Assign(v)
		update(first, x, 12)
		update(second, y, 12)
		if !slices.Equal(x.Float32s(), y.Float32s()) {
			t.Error("a restored optimizer takes another step")
		}
	})
}

func TestLerp(t *testing.T) {
	torch.Test(t, func() {
		average, x := torch.Full(1, torch.Float64, device, 3), torch.Full(3, torch.Float64, device, 3)
		x.SetRequiresGrad(true)
		torch.Lerp([]torch.Tensor{average}, []torch.Tensor{x}, 0.25)
		near(t, "average", average, torch.Full(1.5, torch.Float64, device, 3))
		if err := torch.Try(func() error {
			torch.Lerp([]torch.Tensor{average, average}, []torch.Tensor{x}, 1)
			return nil
		}); err == nil {
			t.Error("two averages of one parameter are no error")
		}
	})
}
