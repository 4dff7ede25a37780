package torch_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checked"
)

// TestCheckedDevice: what goes there comes back, operators compute there, and views share memory.
func TestCheckedDevice(t *testing.T) {
	d := checked.Device(t)
	torch.Test(t, func() {
		x := torch.FromFloat32s([]float32{1, 2, 3, 4, 5, 6}, d, 2, 3)
		if x.Device() != d {
			t.Fatalf("the tensor is on %s", x.Device())
		}
		row := x.Narrow(0, 1, 1)
		row.Assign(torch.Full(7, torch.Float32, d, 1, 3))
		near(t, "the sum through a view", x.MatMul(x.Transpose(0, 1)).Sum(), torch.Full(245, torch.Float32, torch.CPU))
		if found, err := torch.FindDevice(string(d)); err != nil || found != d {
			t.Errorf("it is found as %q, %v", found, err)
		}
		live, peak := torch.LiveDeviceBytes(d), torch.PeakDeviceBytes(d)
		if live != (6+3+2*2+1)*4 || peak < live { // x, the row's new values, the product and its sum
			t.Errorf("tensors hold %d bytes there, and held %d", live, peak)
		}
	})
}

// TestCheckedDeviceCounts: an operator, a view, an upload and a wait.
func TestCheckedDeviceCounts(t *testing.T) {
	d := checked.Device(t)
	torch.Test(t, func() {
		var x torch.Tensor
		for what, c := range map[string]struct {
			f                         func()
			operators, uploads, waits int64
		}{
			"an upload":    {func() { x = torch.FromFloat32s([]float32{1, 2}, d, 2) }, 0, 1, 0},
			"views":        {func() { x.Reshape(1, 2).Transpose(0, 1).Narrow(0, 0, 1) }, 0, 0, 0},
			"two products": {func() { x.Mul(x).Mul(x) }, 2, 0, 0},
			"an item":      {func() { x.Narrow(0, 0, 1).Item() }, 0, 0, 1},
			"two numbers":  {func() { torch.Numbers(x.Narrow(0, 0, 1), x.Narrow(0, 1, 1)) }, 1, 0, 1},
			"nonzero":      {func() { x.Nonzero() }, 1, 0, 1},
		} {
			x = torch.Full(1, torch.Float32, d, 2)
			n := checked.Counting(c.f)
			if n.Operators != c.operators || n.Uploads != c.uploads || n.Waits != c.waits {
				t.Errorf("%s: %d operators, %d uploads and %d waits, want %d, %d and %d:\n%s", what, n.Operators,
					n.Uploads, n.Waits, c.operators, c.uploads, c.waits, n.Names)
			}
		}
	})
}

// TestLossesDoNotWait: with targets on the host, neither fused nor plain losses wait for the device, forwards and
// backwards. libtorch counts devices at a process's first backward pass, so where the tests compute on the CPU another
// process does this.
func TestLossesDoNotWait(t *testing.T) {
	d := checked.Device(t)
	if device == torch.CPU {
		again := exec.Command(os.Args[0], "-test.run=^TestLossesDoNotWait$")
		again.Env = append(os.Environ(), "APERTURE_TEST_DEVICE="+string(d))
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("on %s: %v\n%s", d, err, out)
		}
		return
	}
	torch.Test(t, func() {
		draw := torch.NewStream(1, "losses")
		normal := func(shape ...int64) torch.Tensor {
			return torch.Parameter(draw.Normal(0, 1, torch.Float32, d, shape...))
		}
		latent, prior, shift, weight, bias := normal(9, 2, 5), normal(9, 2), normal(9, 2), normal(31, 5), normal(31)
		defer torch.Free(latent, prior, shift, weight, bias)
		targets := torch.FromInt64s([]int64{3, 1, 30, 4, 1, 0, 9, 7, 2}, torch.CPU, 9)
		for _, form := range []bool{false, true} {
			o := torch.SoftmaxLossOptions{Ignore: 1, Epsilon: 0.1, Scale: 1, Terms: zLoss(0.1), Plain: form}
			n := checked.Counting(func() {
				loss, _, _ := torch.MixtureLoss(latent, prior, weight, bias, targets, shift, o)
				loss.Backward()
				loss, _, _ = torch.ShiftedSoftmaxLoss(latent.Narrow(1, 0, 1).Reshape(9, 5), weight, bias, targets,
					shift.Narrow(1, 0, 1).Reshape(9), o)
				loss.Backward()
			})
			if n.Waits != 0 {
				t.Errorf("plain %v: %d waits:\n%s", form, n.Waits, n.Names)
			}
		}
	})
}

// TestCheckedDeviceRefusesBothSides: as a GPU does.
func TestCheckedDeviceRefusesBothSides(t *testing.T) {
	d := checked.Device(t)
	torch.Test(t, func() {
		x, y := torch.Full(1, torch.Float32, d, 2, 2), torch.Full(1, torch.Float32, torch.CPU, 2, 2)
		if err := failure(t, func() { x.MatMul(y) }); !strings.Contains(err.Error(), "same device") {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestOperandsOfTwoDevices: a fused operator refuses operands of which one is elsewhere, whichever that is.
func TestOperandsOfTwoDevices(t *testing.T) {
	d := checked.Device(t)
	torch.Test(t, func() {
		s := torch.NewStream(1, "x")
		here := func(shape ...int64) torch.Tensor { return s.Normal(0, 1, torch.Float32, torch.CPU, shape...) }
		there := func(shape ...int64) torch.Tensor { return s.Normal(0, 1, torch.Float32, d, shape...) }
		y := torch.FromInt64s([]int64{0, 1}, torch.CPU, 2)
		loss := torch.SoftmaxLossOptions{Ignore: -1, Scale: 1}
		layer := func(hidden, state torch.Tensor) {
			torch.LSTM(here(5, 2, 3), state, here(2, 4), torch.LSTMWeights{Input: here(16, 3), Hidden: hidden, InputBias: here(16),
				HiddenBias: here(16)}, torch.LSTMOptions{})
		}
		for what, f := range map[string]func(){
			"a shift": func() { torch.ShiftedSoftmaxLoss(here(2, 4), here(5, 4), torch.Tensor{}, y, there(2), loss) },
			"a prior": func() {
				torch.MixtureLoss(here(2, 3, 4), there(2, 3), here(5, 4), torch.Tensor{}, y, torch.Tensor{}, loss)
			},
			"a table": func() {
				torch.ContinuousLoss(here(2, 4), there(5, 4), y, torch.ContinuousLossOptions{Kind: torch.Cosine, Ignore: -1, Scale: 1})
			},
			"a gain":     func() { torch.ResidualNorm(here(2, 4), here(2, 4), there(4), here(4), 1e-5, 0, nil) },
			"a residual": func() { torch.ResidualNorm(here(2, 4), there(2, 4), here(4), here(4), 1e-5, 0, nil) },
			"a state":    func() { layer(here(16, 4), there(2, 4)) },
			"a weight":   func() { layer(there(16, 4), here(2, 4)) },
			"a bias":     func() { torch.Pack(here(5, 4)).Linear(here(2, 4), there(5), false) },
			"its bias":   func() { torch.PackInt8(here(5, 4)).Linear(here(2, 4), there(5), false) },
			"a mask": func() {
				torch.AttentionalDecoder{Query: here(6, 6), Mix: here(6, 12), Output: there(1, 2, 6),
					Layers: []torch.LSTMWeights{{Input: here(24, 11), Hidden: here(24, 6), InputBias: here(24), HiddenBias: here(24)}},
				}.Run(here(3, 2, 5), here(2, 4, 6), nil, []torch.Tensor{{}}, []torch.Tensor{{}})
			},
		} {
			if err := torch.Try(func() error { f(); return nil }); err == nil || !strings.Contains(err.Error(), string(d)) {
				t.Errorf("with %s elsewhere: %v", what, err)
			}
		}
		// targets may lie anywhere
		torch.ContinuousLoss(here(2, 4), here(5, 4), y.To(torch.Int64, d), torch.ContinuousLossOptions{Kind: torch.Cosine, Ignore: -1, Scale: 1})
	})
}

// TestCheckedDeviceEndsTouching: a process that reads the device's memory from the host ends with a sentence.
func TestCheckedDeviceEndsTouching(t *testing.T) {
	const child = "APERTURE_TOUCH"
	d := checked.Device(t)
	if os.Getenv(child) != "" {
		torch.Do(func() {
			torch.OpenScope()
			torch.Full(1, torch.Float32, d, 100)
			checked.Touch()
		})
		return
	}
	c := exec.Command(os.Args[0], "-test.run=^TestCheckedDeviceEndsTouching$")
	c.Env = append(os.Environ(), child+"=1")
	says, err := c.CombinedOutput()
	if err == nil ||
		!strings.Contains(string(says), "checked device: the host touched the device's memory (400 bytes, made for "+
			"") || !strings.Contains(string(says), "checked_touch") {
		t.Errorf("it ends with %v and says %s", err, says)
	}
}
