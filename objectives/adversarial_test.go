package objectives

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// attacked makes an output layer with W as given, dense or factored, and the
// settings' adversarial softmax.
func attacked(t *testing.T, s Settings, padding int64, params map[string]torch.Tensor, dtype torch.DType) (*Output,
	Config) {
	t.Helper()
	v, d := params["weight"], int64(0)
	if params["u"].Defined() {
		v, d = params["u"], params["v"].Size(0)
		s.Set("method", "spectrum+adversarial", "prior", "none", "lambda_u", 0, "lambda_v", 0)
	} else {
		s.Method, d = "adversarial", v.Size(1)
	}
	p := config(v.Size(0), d, padding)
	p.DType = dtype
	o := layer(t, s, p)
	torch.NoGrad(func() {
		for name, x := range params {
			if name == "bias" {
				name = "decoder.output_projection.bias"
			} else {
				name = "decoder.embed_tokens." + name
			}
			if name == "decoder.embed_tokens.u" {
				x = x.MulScalar(1 / o.Embedding().(*Factored).c)
			}
			p.Params.Get(name).Assign(x)
		}
	})
	return o, p
}

// TestAdversarialEqualsPyTorch has losses and every gradient of the three modes,
// on dense and factored matrices, with and without a bias, and with label
// smoothing whose mass sees clean scores.
func TestAdversarialEqualsPyTorch(t *testing.T) {
	for _, form := range []string{"dense", "dense_bias", "factored", "factored_bias"} {
		kinds := []string{"code", "paper", "full"}
		if form == "dense_bias" {
			for _, smoothing := range []string{"fairseq", "pytorch", "t2t"} {
				kinds = append(kinds, "full_"+smoothing+"_clean")
			}
		}
		for _, kind := range kinds {
			for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-12, torch.Float32: 1e-5} {
				t.Run(fmt.Sprint(form, "/", kind, "/", dtype), func(t *testing.T) {
					torch.Test(t, func() {
						g, meta, err := torch.ReadSafetensors("../torch/testdata/softmax_loss.safetensors", device)
						if err != nil {
							t.Fatal(err)
						}
						var constants struct {
							Ignored        int64
							Alpha, Epsilon float64
						}
						if err := json.Unmarshal([]byte(meta["settings"]), &constants); err != nil {
							t.Fatal(err)
						}
						params := map[string]torch.Tensor{"weight": g["weight"]}
						if form[0] == 'f' {
							params = map[string]torch.Tensor{"u": g["factored/u"], "s": g["factored/s"],
								"v": g["factored/v"]}
						}
						s := unsmoothed()
						mode := strings.Split(kind, "_")
						s.Set("alpha", constants.Alpha, "adversarial_mode", mode[0])
						if len(mode) > 1 {
							s.Set("label_smoothing", constants.Epsilon, "smoothing", mode[1])
						}
						if s.Set("bias", len(form) > 8 && form != "factored"); Of[SoftmaxSettings](s).Bias {
							params["bias"] = g["bias"]
						}
						o, p := attacked(t, s, constants.Ignored, params, dtype)
						defer release(o, p)
						hidden := leaf(g["hidden"], dtype)
						loss, nll := o.Loss(torch.States{Hidden: hidden}, g["targets"], 1)
						loss.Backward()
						o.Penalize()
						want := func(key string) []float64 { return g[form+"/"+kind+"/"+key].Float64s() }
						near(t, "loss", loss.Float64s(), want("loss"), limit)
						near(t, "nll", nll.Float64s(), want("nll"), limit)
						near(t, "nll of evaluation", o.NLL(torch.States{Hidden: hidden}, g["targets"]).Float64s(),
							want("nll"), limit)
						near(t, "gradient of hidden", hidden.Grad().Float64s(), want("g_hidden"), limit)
						for name := range params {
							full := "decoder.embed_tokens." + name
							factor := 1.0
							if name == "bias" {
								full = "decoder.output_projection.bias"
							} else if name == "u" {
								factor = 1 / o.Embedding().(*Factored).c
							}
							near(t, "gradient of "+name, p.Params.Get(full).Grad().MulScalar(factor).Float64s(),
								want("g_"+name), limit)
						}
						gain := 0.0
						clean := want("nll")
						for i, x := range want("adversarial_nll") {
							gain += x - clean[i]
						}
						near(t, "gain", []float64{o.Report()["adversarial_gain"]}, []float64{gain}, limit)
					})
				})
			}
		}
	}
}

// example is the worked example: three words in two dimensions.
func example(t *testing.T, change func(*Settings), hidden []float64, target int64, dtype torch.DType) (loss,
	nll float64, gHidden, gWeight []float64) {
	t.Helper()
	s := unsmoothed()
	s.Set("alpha", 0.05)
	change(&s)
	w := torch.FromFloat64s([]float64{1, 2, 3, -1, -2, 0.5}, device, 3, 2)
	o, p := attacked(t, s, -1, map[string]torch.Tensor{"weight": w}, dtype)
	defer release(o, p)
	h := leaf(torch.FromFloat64s(hidden, device, 1, 2), dtype)
	l, n := o.Loss(torch.States{Hidden: h}, torch.FromInt64s([]int64{target}, device, 1), 1)
	l.Backward()
	return l.Item(), n.Item(), h.Grad().Float64s(), p.Params.Get("decoder.embed_tokens.weight").Grad().Float64s()
}

func TestAdversarialWorkedExample(t *testing.T) {
	torch.Test(t, func() {
		h := []float64{0.6, -0.8}
		for mode, want := range map[string][4]float64{
			"code":  {1.946358, -2.995180, -0.585896, 0.781195},
			"paper": {1.880853, -2.907840, -0.585896, 0.781195},
			"full":  {1.946358, -2.995180, -0.564061, 0.824865},
		} {
			loss, nll, gHidden, gWeight := example(t, func(s *Settings) { s.Set("adversarial_mode", mode) }, h, 0,
				torch.Float64)
			near(t, mode+": losses", []float64{loss, nll}, []float64{3.750475, 3.641448}, 2e-7)
			near(t, mode+": gradients", append(gHidden, gWeight[:2]...), want[:], 5e-7)
		}
		loss, nll, _, _ := example(t, func(*Settings) {}, h, 1, torch.Float64)
		near(t, "losses of the likely word", []float64{loss, nll}, []float64{0.048379, 0.041448}, 5e-7)
	})
}

// TestAdversarialOfZeros: states and rows of zeros are shifted by nothing and
// have finite gradients, in every mode.
func TestAdversarialOfZeros(t *testing.T) {
	torch.Test(t, func() {
		for _, mode := range []string{"code", "paper", "full"} {
			set := func(s *Settings) { s.Set("adversarial_mode", mode) }
			for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
				loss, nll, gHidden, gWeight := example(t, set, []float64{0, 0}, 0, dtype)
				all := append(append(gHidden, gWeight...), loss)
				if math.Abs(loss-nll) > 1e-12 || !torch.FromFloat64s(all, device, int64(len(all))).AllFinite() {
					t.Errorf("%s: a state of zeros has loss %v, nll %v, gradients %v", mode, loss, nll, all)
				}
			}
			s := unsmoothed()
			set(&s)
			o, p := attacked(t, s, 0, map[string]torch.Tensor{"weight": torch.Zeros(torch.Float64, device, 5, 3)},
				torch.Float64)
			h := leaf(torch.NewStream(1, "h").Normal(0, 1, torch.Float64, device, 4, 3), torch.Float64)
			loss, _ := o.Loss(torch.States{Hidden: h}, torch.FromInt64s([]int64{0, 1, 4, 0}, device, 4), 1)
			loss.Backward()
			if !loss.AllFinite() || !h.Grad().AllFinite() ||
				!p.Params.Get("decoder.embed_tokens.weight").Grad().AllFinite() {
				t.Errorf("%s: rows of zeros give a loss of %v", mode, loss.Item())
			}
			release(o, p)
		}
	})
}

// TestAdversarialInvariants: nothing is gained by a radius of 0, the loss never
// falls, a row does not depend on the others, and what it gains is reported for
// one update however it is cut into batches.
func TestAdversarialInvariants(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Set("method", "adversarial", "alpha", 0.3, "label_smoothing", 0.1)
		stream := torch.NewStream(5, "data")
		hidden := stream.Normal(0, 1, torch.Float64, device, 12, 7)
		targets := torch.FromInt64s([]int64{4, 4, 4, 1, 30, 0, 2, 9, 1, 9, 4, 17}, device, 12)
		at := func(s Settings, h, y torch.Tensor) (losses []float64, gain float64) {
			p := config(31, 7, 1)
			o := layer(t, s, p)
			defer release(o, p)
			for n := range h.Size(0) {
				loss, nll := o.Loss(torch.States{Hidden: h.Narrow(0, n, 1)}, y.Narrow(0, n, 1), 1.0/12)
				near(t, "nll", nll.Float64s(),
					o.NLL(torch.States{Hidden: h.Narrow(0, n, 1)}, y.Narrow(0, n, 1)).Float64s(), 1e-13)
				losses = append(losses, loss.Item())
			}
			gain = o.Report()["adversarial_gain"]
			o.Penalize()
			loss, _ := o.Loss(torch.States{Hidden: h}, y, 1.0/12) // another update, in one batch
			sum := 0.0
			for _, x := range losses {
				sum += x
			}
			near(t, "the loss by rows and whole, their gain", []float64{loss.Item(), o.Report()["adversarial_gain"]},
				[]float64{sum, gain}, 1e-13)
			return losses, gain
		}
		adversarial, gain := at(s, hidden, targets)
		without := s
		without.Set("alpha", 0)
		clean, none := at(without, hidden, targets)
		mle := s
		mle.Method = "mle"
		plain, absent := at(mle, hidden, targets)
		near(t, "a radius of 0", clean, plain, 0)
		if none != 0 || absent != 0 || gain <= 0 {
			t.Errorf("the gain is %v, %v with a radius of 0, %v of mle", gain, none, absent)
		}
		for i := range clean {
			if padding := i == 3 || i == 8; (adversarial[i] > clean[i]) == padding {
				t.Errorf("row %d has a loss of %v, clean %v", i, adversarial[i], clean[i])
			}
		}
	})
}

// TestAdversarialBroadcasts: a likelihood of several states per target gets a
// shift for each.
func TestAdversarialBroadcasts(t *testing.T) {
	torch.Test(t, func() {
		s := torch.NewStream(5, "data")
		h, w := s.Normal(0, 1, torch.Float64, device, 5, 3, 4), s.Normal(0, 1, torch.Float64, device, 5, 4)
		for _, mode := range []AdversarialMode{AdversarialCode, AdversarialPaper, AdversarialFull} {
			a := Adversarial{Alpha: 0.1, Mode: mode}
			together := a.Shift(h, func() torch.Tensor { return w.Reshape(5, 1, 4) })
			if shape := together.Shape(); len(shape) != 2 || shape[0] != 5 || shape[1] != 3 {
				t.Fatalf("%+v: the shift has shape %v", a, shape)
			}
			for k := range int64(3) {
				one := a.Shift(h.Narrow(1, k, 1).Reshape(5, 4), func() torch.Tensor { return w })
				near(t, fmt.Sprintf("%+v", a), together.Narrow(1, k, 1).Float64s(), one.Float64s(), 1e-15)
			}
		}
	})
}

// TestAdversarialGradientsOnRandomShapes: the modes have one value, and their
// gradients differ by what each says it differentiates: with d = -alpha |w_y| h/|h|,
// code's of h is paper's and (p(y) - 1) d, full's of w_y is code's and
// (p(y) - 1) (-alpha |h| w_y/|w_y|), p the perturbed probability.
func TestAdversarialGradientsOnRandomShapes(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 1))
	for range 12 {
		v, d, alpha := 1+random.Int64N(60), 1+random.Int64N(20), random.Float64()
		y := random.Int64N(v)
		torch.Test(t, func() {
			stream := torch.NewStream(random.Uint64(), "case")
			w, h := stream.Normal(0, 1, torch.Float64, device, v, d), stream.Normal(0, 1, torch.Float64, device, 1, d)
			run := func(mode string) (loss float64, gHidden, gWeight torch.Tensor) {
				s := unsmoothed()
				s.Set("alpha", alpha, "adversarial_mode", mode)
				o, p := attacked(t, s, -1, map[string]torch.Tensor{"weight": w}, torch.Float64)
				defer release(o, p)
				hidden := leaf(h, torch.Float64)
				l, _ := o.Loss(torch.States{Hidden: hidden}, torch.FromInt64s([]int64{y}, device, 1), 1)
				l.Backward()
				return l.Item(), hidden.Grad().Clone(), p.Params.Get("decoder.embed_tokens.weight").Grad().Clone()
			}
			code, hCode, wCode := run("code")
			paper, hPaper, wPaper := run("paper")
			full, hFull, wFull := run("full")
			if code != paper || code != full {
				t.Errorf("the losses are %v, %v and %v", code, paper, full)
			}
			row := w.Narrow(0, y, 1)
			hLength, wLength := h.Norm(1, true).Item(), row.Norm(1, true).Item()
			shown := math.Exp(-code) - 1
			what := fmt.Sprintf("V %d, D %d: ", v, d)
			near(t, what+"code's gradient of h", hCode.Sub(hPaper).Float64s(),
				h.MulScalar(-shown*alpha*wLength/hLength).Float64s(), 1e-12)
			near(t, what+"full's gradient of h", hFull.Float64s(), hCode.Float64s(), 1e-13)
			near(t, what+"paper's gradient of W", wPaper.Float64s(), wCode.Float64s(), 1e-13)
			near(t, what+"code's gradient of w_y", wCode.Narrow(0, y, 1).Float64s(), h.MulScalar(shown).Float64s(),
				1e-12)
			difference := wFull.Sub(wCode)
			near(t, what+"full's gradient of w_y", difference.Narrow(0, y, 1).Float64s(),
				row.MulScalar(-shown*alpha*hLength/wLength).Float64s(), 1e-12)
			near(t, what+"full's gradient of other rows", []float64{difference.Abs().Sum().Item()},
				[]float64{difference.Narrow(0, y, 1).Abs().Sum().Item()}, 1e-12)
		})
	}
}
