package torch_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checked"
)

// device is where these tests compute: the CPU, or what APERTURE_TEST_DEVICE says.
var device = checked.FromEnvironment()

// ofCPU skips a test of what only the CPU does, where the tests compute elsewhere.
func ofCPU(t *testing.T) {
	t.Helper()
	if device != torch.CPU {
		t.Skip("tests compute on " + string(device) + ", and this is about the CPU alone")
	}
}

// notOnGPU skips a test whose result a GPU's own kernels give otherwise.
func notOnGPU(t *testing.T, why string) {
	t.Helper()
	if device.IsCUDA() {
		t.Skip(why)
	}
}

// TestMain fails where no test has called a kernel.
func TestMain(m *testing.M) {
	code := m.Run()
	if names := uncalled(); code == 0 && device == torch.CPU && wholeRun() && len(names) > 0 {
		fmt.Printf("kernels that no test has called with %s: %s\n", torch.ISA(), strings.Join(names, ", "))
		code = 1
	}
	os.Exit(code)
}

// wholeRun reports whether no flag leaves tests out, or build.sh says that what it leaves out calls no kernel of its own.
func wholeRun() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		every := name == "test.skip" && os.Getenv("APERTURE_EVERY_KERNEL") != ""
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" && !every {
			return false
		}
	}
	return true
}

// Tolerances, by type: absolute, and relative to the largest expected value.
var tolerances = map[torch.DType]float64{torch.Float64: 1e-10, torch.Float32: 2e-5, torch.BFloat16: 2e-2}

func golden(t *testing.T, name string) (map[string]torch.Tensor, map[string]string) {
	t.Helper()
	tensors, metadata, err := torch.ReadSafetensors("testdata/"+name, device)
	if err != nil {
		t.Fatal(err)
	}
	return tensors, metadata
}

// near fails unless got equals want within the tolerance of got's type.
func near(t *testing.T, what string, got, want torch.Tensor) {
	t.Helper()
	if !got.Defined() {
		t.Errorf("%s: there is no value", what)
		return
	}
	limit := tolerances[got.DType()]
	if limit == 0 {
		limit = 1e-12
	}
	nearWithin(t, what, got, want, limit)
}

func nearWithin(t *testing.T, what string, got, want torch.Tensor, limit float64) {
	t.Helper()
	if !got.Defined() {
		t.Errorf("%s: there is no value", what)
		return
	}
	fixtures.Near(t, what, got.Float64s(), want.Float64s(), limit)
}

// checkGradients compares the gradients of a scalar function of float64 tensors
// with central differences.
func checkGradients(t *testing.T, what string, inputs []torch.Tensor, f func([]torch.Tensor) torch.Tensor) {
	t.Helper()
	const step = 1e-6
	for _, x := range inputs {
		x.SetRequiresGrad(true)
	}
	torch.ZeroGrad(inputs)
	f(inputs).Backward()
	for i, x := range inputs {
		gradient, values := x.Grad().Float64s(), x.Float64s()
		at := func(j int, v float64) float64 {
			s := torch.OpenScope()
			defer s.Close()
			moved := append([]float64(nil), values...)
			moved[j] = v
			x.Assign(torch.FromFloat64s(moved, device, x.Shape()...))
			return f(inputs).Item()
		}
		for j, v := range values {
			if device != torch.CPU && j%5 != 0 {
				continue // where an operator takes its time, some are enough
			}
			want := (at(j, v+step) - at(j, v-step)) / (2 * step)
			if math.Abs(gradient[j]-want) > 1e-7*math.Max(1, math.Abs(want))+1e-8 {
				t.Errorf("%s: gradient %d of input %d is %v, by differences %v", what, j, i, gradient[j], want)
			}
		}
		x.Assign(torch.FromFloat64s(values, device, x.Shape()...))
	}
}
