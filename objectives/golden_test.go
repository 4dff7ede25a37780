package objectives

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// equalsPyTorch holds a method, with changed settings, to its golden of testdata/gen_terms.py: the loss, evaluation and
// every gradient, of a softmax and of a mixture, in float64 and float32.
func equalsPyTorch(t *testing.T, method string, change ...any) {
	t.Helper()
	for form, likelihood := range map[string]string{"softmax": "", "mos": "mos+"} {
		change := append([]any{"bias", true, "mixture_components", 3, "mixture_dropout", 0}, change...)
		equalsForm(t, method, form, likelihood+method, 1e-12, change...)
	}
}

// equalsForm holds a method, with changed settings, to a form of a golden file.
func equalsForm(t *testing.T, file, form, method string, limit float64, change ...any) {
	t.Helper()
	for dtype, limit := range map[torch.DType]float64{torch.Float64: limit, torch.Float32: 2e-5} {
		t.Run(fmt.Sprint(form, "/", dtype), func(t *testing.T) {
			torch.Test(t, func() {
				g, _, err := torch.ReadSafetensors("testdata/"+file+".safetensors", device)
				if err != nil {
					t.Fatal(err)
				}
				s := unsmoothed()
				s.Set("method", method)
				s.Set(change...)
				p := config(47, 9, 1)
				p.DType, p.Specials = dtype, 2
				o := layer(t, s, p)
				defer release(o, p)
				short := func(name string) string {
					return strings.TrimPrefix(strings.TrimPrefix(name, p.Embedding+"."), p.Output+".")
				}
				given := func(name string) torch.Tensor {
					if x, own := g[form+"/"+name]; own {
						return x
					}
					return g[name]
				}
				torch.NoGrad(func() {
					for _, name := range p.Params.Names() {
						p.Params.Get(name).Assign(given(short(name)))
					}
					for name, x := range o.Buffers() {
						x.Assign(g[name])
					}
				})
				states := torch.States{Hidden: leaf(g["hidden"], dtype), Column: g["column"].Int64s(), Columns: 3}
				loss, nll := o.Loss(states, g["targets"], 1)
				loss.Backward()
				o.Penalize()
				total := loss.Item()
				for _, name := range []string{"centre_penalty"} {
					total += o.Report()[name]
				}
				want := func(key string) []float64 { return g[form+"/"+key].Float64s() }
				near(t, "loss", []float64{total}, want("loss"), limit)
				if method != headless.Name {
					near(t, "nll", nll.Float64s(), want("nll"), limit)
				}
				near(t, "nll of evaluation", o.NLL(states, g["targets"]).Float64s(), want("nll"), limit)
				near(t, "log-probabilities", o.LogProbs(states.Hidden).Float64s(), want("log_p"), limit)
				near(t, "gradient of hidden", states.Hidden.Grad().Float64s(), want("g_hidden"), limit)
				for _, name := range p.Params.Names() {
					near(t, "gradient of "+name, p.Params.Get(name).Grad().Float64s(), want("g_"+short(name)), limit)
				}
			})
		})
	}
}
