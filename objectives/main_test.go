package objectives

import (
	"os"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/torch/checked"

	"github.com/aperture-ml/aperture/torch"
)

// device is where these tests compute: the CPU, or what APERTURE_TEST_DEVICE says.
var device = checked.FromEnvironment()

// The matrices of these tests are too small to share among threads, which on a
// busy machine would mostly wait for each other.
func TestMain(m *testing.M) {
	torch.SetThreads(1)
	os.Exit(m.Run())
}

var near = fixtures.Near

// config is an output layer of v symbols and d columns in float64.
func config(v, d, padding int64) Config {
	return Config{
		Vocabulary: v, Width: d, Padding: padding, Params: &torch.Params{}, Embedding: "decoder.embed_tokens",
		Output: "decoder.output_projection",
		Stream: torch.NewStream(1, "init"), Device: device, DType: torch.Float64,
	}
}

// unsmoothed are the defaults without label smoothing.
func unsmoothed() Settings {
	s := Defaults()
	s.Set("label_smoothing", 0)
	return s
}

// resolved are the pieces of settings that make sense.
func resolved(s Settings) Pieces {
	m, err := s.Resolve()
	if err != nil {
		panic(err)
	}
	return m
}

// layer makes an output layer and frees it with the test.
func layer(t *testing.T, s Settings, p Config) *Output {
	t.Helper()
	o, err := New(s, p)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func release(o *Output, p Config) {
	o.Free()
	p.Params.Free()
}

// trained are settings that exercise every piece of the methods that train an output
// matrix; continuous_test.go has those with target vectors.
func trained() map[string]Settings {
	all := map[string]Settings{}
	combined := []string{"zloss+adversarial", "zloss+spectrum", "zloss+mos", "zloss+adaptive", "spectrum+adversarial",
		"spectrum+cosreg", "mos+adversarial", "mos+spectrum", "mos+cosreg", "adaptive+adversarial",
		"adaptive+spectrum", "mixtape+adversarial", "mixtape+spectrum",
		"mixtape+unlikelihood", "drill+adversarial", "drill+spectrum", "drill+agg", "agg+mos", "agg+spectrum"}
	for _, m := range methods {
		if m.Name == headless.Name {
			continue // its loss is of other scores in training
		}
		combined = append(combined, m.Name)
	}
	for _, name := range combined {
		s := unsmoothed()
		if s.Method = name; resolved(s).WordTargets {
			continue
		}
		s.Set("method", name, "mixture_components", 3, "mixture_dropout", 0) // what is drawn differs from call to call
		all[name] = s
		s.Set("label_smoothing", 0.1, "bias", true, "lambda_u_spectral", 0.5, "lambda_v_spectral", 0.5, "spectrum_init",
			"svd")
		s.Set("adversarial_mode", "full", "adaptive_divisor", 2)
		all[name+" with everything"] = s
	}
	return all
}

// gradients gives the parameters' gradients by name and drops them.
func gradients(p Config) map[string][]float64 {
	all := map[string][]float64{}
	for _, name := range p.Params.Names() {
		if g := p.Params.Get(name).Grad(); g.Defined() {
			all[name] = g.Float64s()
		}
	}
	torch.ZeroGrad(p.Params.Tensors())
	return all
}

// rewind takes the layer's buffers back to what they are now, when it is called.
func rewind(o *Output) (again func()) {
	before := map[string]torch.Tensor{}
	for name, x := range o.Buffers() {
		before[name] = x.Clone()
	}
	return func() {
		for name, x := range o.Buffers() {
			x.Assign(before[name])
		}
	}
}

// singularValues are all of W's, falling.
func singularValues(e Embedding) torch.Tensor {
	w := e.Matrix().To(torch.Float64, device)
	return w.SingularValues().Narrow(0, 0, min(w.Size(0), w.Size(1)))
}
