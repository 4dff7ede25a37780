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

// TestAdaptiveEqualsPyTorch checks losses, log-probabilities and every gradient of
// dense and factored matrices, with a bias, and with tails of their own.
func TestAdaptiveEqualsPyTorch(t *testing.T) {
	for _, form := range []string{"dense", "bias", "factored", "narrow"} {
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-12, torch.Float32: 1e-5} {
			t.Run(fmt.Sprint(form, "/", dtype), func(t *testing.T) {
				torch.Test(t, func() {
					g, meta, err := torch.ReadSafetensors("testdata/adaptive.safetensors", device)
					if err != nil {
						t.Fatal(err)
					}
					var constants struct {
						Ignored int64
						Cutoffs string
					}
					if err := json.Unmarshal([]byte(meta["settings"]), &constants); err != nil {
						t.Fatal(err)
					}
					s := unsmoothed()
					s.Set("method", "adaptive", "adaptive_cutoffs", constants.Cutoffs, "bias", form == "bias")
					switch form {
					case "factored":
						s.Set("method", "adaptive+spectrum", "prior", "none", "lambda_u", 0, "lambda_v", 0)
					case "narrow":
						s.Set("adaptive_divisor", 2)
					}
					p := config(47, 9, constants.Ignored)
					p.DType = dtype
					o := layer(t, s, p)
					defer release(o, p)
					c := 1.0 // of the parameter behind U, whose scores are those of U
					if factored, ok := o.Embedding().(*Factored); ok {
						c = factored.c
					}
					scaled := func(name string) bool {
						return name == "u" || form == "factored" &&
							name == "clusters.weight"
					}
					short := func(name string) string {
						return strings.TrimPrefix(strings.TrimPrefix(name, p.Embedding+"."), p.Output+".")
					}
					torch.NoGrad(func() {
						for _, name := range p.Params.Names() {
							x := g[short(name)]
							if scaled(short(name)) {
								x = x.MulScalar(1 / c)
							}
							p.Params.Get(name).Assign(x)
						}
					})
					hidden := leaf(g["hidden"], dtype)
					loss, nll := o.Loss(torch.States{Hidden: hidden}, g["targets"], 1)
					loss.Backward()
					want := func(key string) []float64 { return g[form+"/"+key].Float64s() }
					near(t, "loss", loss.Float64s(), want("loss"), limit)
					near(t, "nll", nll.Float64s(), want("nll"), limit)
					near(t, "nll of evaluation", o.NLL(torch.States{Hidden: hidden}, g["targets"]).Float64s(),
						want("nll"), limit)
					near(t, "log-probabilities", o.LogProbs(hidden).Float64s(), want("log_p"), limit)
					near(t, "gradient of hidden", hidden.Grad().Float64s(), want("g_hidden"), limit)
					for _, name := range p.Params.Names() {
						x := p.Params.Get(name).Grad()
						if scaled(short(name)) {
							x = x.MulScalar(1 / c)
						}
						near(t, "gradient of "+name, x.Float64s(), want("g_"+short(name)), limit)
					}
				})
			})
		}
	}
}

// trial is what a layer makes of one batch.
type trial struct {
	loss, nll, gHidden []float64
	gradients          map[string][]float64
}

func try(t *testing.T, s Settings, p Config, hidden, targets torch.Tensor) trial {
	t.Helper()
	o := layer(t, s, p)
	defer release(o, p)
	h := leaf(hidden, torch.Float64)
	loss, nll := o.Loss(torch.States{Hidden: h}, targets, 0.5)
	loss.Backward()
	return trial{loss.Float64s(), nll.Float64s(), h.Grad().Float64s(), gradients(p)}
}

// TestAdaptiveOfOneClusterIsSoftmax: smoothed, perturbed, factored or not.
func TestAdaptiveOfOneClusterIsSoftmax(t *testing.T) {
	torch.Test(t, func() {
		stream := torch.NewStream(1, "data")
		hidden := stream.Normal(0, 1, torch.Float64, device, 9, 7)
		targets := torch.FromInt64s([]int64{0, 5, 30, 1, 9, 9, 17, 2, 29}, device, 9)
		for _, with := range []string{"mle", "adversarial", "spectrum", "spectrum+adversarial"} {
			for _, epsilon := range []float64{0, 0.1} {
				s := unsmoothed()
				s.Set("method", with, "label_smoothing", epsilon, "bias", true, "alpha", 0.3)
				want := try(t, s, config(31, 7, 1), hidden, targets)
				s.Set("method", strings.TrimPrefix("adaptive+"+strings.TrimPrefix(with, "mle"), "+"),
					"adaptive_cutoffs", "none")
				s.Method = strings.TrimSuffix(s.Method, "+")
				got := try(t, s, config(31, 7, 1), hidden, targets)
				near(t, s.Method+": loss", got.loss, want.loss, 0)
				near(t, s.Method+": nll", got.nll, want.nll, 0)
				near(t, s.Method+": gradient of hidden", got.gHidden, want.gHidden, 0)
				if len(got.gradients) != len(want.gradients) {
					t.Errorf("%s: gradients of %d parameters, want %d", s.Method, len(got.gradients),
						len(want.gradients))
				}
				for name, g := range want.gradients {
					near(t, s.Method+": gradient of "+name, got.gradients[name], g, 0)
				}
			}
		}
	})
}

// TestAdaptiveSumsToOne for random cutoffs, divisors and vocabularies.
func TestAdaptiveSumsToOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	torch.Test(t, func() {
		for range 30 {
			v, d := 1+r.Int64N(60), 1+r.Int64N(12)
			s := unsmoothed()
			s.Set("method", []string{"adaptive", "adaptive+spectrum"}[r.IntN(2)], "bias", r.IntN(2) == 0,
				"adaptive_divisor", []float64{1, 1.5, 4}[r.IntN(3)])
			if r.IntN(3) > 0 && v > 1 {
				var ranks []string
				for rank := 1 + r.Int64N(v-1); rank < v; rank += 1 + r.Int64N(v) {
					ranks = append(ranks, fmt.Sprint(rank))
				}
				s.Set("adaptive_cutoffs", strings.Join(ranks, ", "))
			}
			p := config(v, d, -1)
			o := layer(t, s, p)
			moved(p)
			hidden := torch.NewStream(r.Uint64(), "hidden").Normal(0, 3, torch.Float64, device, 5, d)
			ones := o.LogProbs(hidden).Exp().SumDim(1, false).Float64s()
			near(t, fmt.Sprintf("V %d, cutoffs %q: sum", v, Of[AdaptiveSettings](s).AdaptiveCutoffs), ones,
				[]float64{1, 1, 1, 1, 1}, 1e-12)
			release(o, p)
		}
	})
}

// TestFixedAveragePredictsAlike compares log-probabilities before and after FixAverage, which turns U: the rows of
// clusters have to turn with it.
func TestFixedAveragePredictsAlike(t *testing.T) {
	for _, method := range []string{"spectrum", "adaptive+spectrum", "mos+spectrum", "mixtape+spectrum", "sn",
		"adaptive+sn"} {
		torch.Test(t, func() {
			s := unsmoothed()
			s.Set("method", method, "adaptive_cutoffs", "5,11")
			p := config(31, 6, 2)
			o := layer(t, s, p)
			defer release(o, p)
			moved(p)
			hidden := torch.NewStream(1, "hidden").Normal(0, 1, torch.Float64, device, 7, 6)
			before := o.LogProbs(hidden).Float64s()
			o.FixAverage(p.Params.Map())
			near(t, method, o.LogProbs(hidden).Float64s(), before, 1e-11)
		})
	}
}

// TestAdaptiveSmoothsWithinEachSoftmax compares with one softmax for the head and
// one for the tail.
func TestAdaptiveSmoothsWithinEachSoftmax(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Set("method", "adaptive", "label_smoothing", 0.1, "adaptive_cutoffs", "10")
		p := config(31, 7, 1)
		o := layer(t, s, p)
		defer release(o, p)
		moved(p)
		hidden := torch.NewStream(4, "hidden").Normal(0, 1, torch.Float64, device, 2, 7)
		loss, _ := o.Loss(torch.States{Hidden: hidden}, torch.FromInt64s([]int64{3, 25}, device, 2), 1)
		smoothed := func(scores torch.Tensor, row int64, target int) float64 {
			logP := scores.Narrow(0, row, 1).LogSoftmax(1).Float64s()
			sum := 0.9 * -logP[target]
			for j, x := range logP {
				if j != target {
					sum -= 0.1 / float64(len(logP)-1) * x
				}
			}
			return sum
		}
		w := o.Embedding().Matrix()
		cluster := p.Params.Get("decoder.output_projection.clusters.weight")
		zeros := torch.Zeros(torch.Float64, device, 10)
		bias := torch.Cat([]torch.Tensor{zeros, p.Params.Get("decoder.output_projection.clusters.bias")}, 0)
		head := torch.Linear(hidden, torch.Cat([]torch.Tensor{w.Narrow(0, 0, 10), cluster}, 0), bias)
		tail := torch.Linear(hidden, w.Narrow(0, 10, 21), torch.Tensor{})
		want := smoothed(head, 0, 3) + smoothed(head, 1, 10) + smoothed(tail, 1, 15)
		near(t, "loss", loss.Float64s(), []float64{want}, 1e-12)
	})
}

// TestAdaptivePerturbsTheSoftmaxOfTheWord: alpha |w_y| |h| comes off the score of
// the word, in the head or in its tail, and off no cluster's.
func TestAdaptivePerturbsTheSoftmaxOfTheWord(t *testing.T) {
	torch.Test(t, func() {
		for _, divisor := range []float64{1, 2} {
			s := unsmoothed()
			s.Set("method", "adaptive+adversarial", "alpha", 0.3, "adaptive_cutoffs", "10,20", "adaptive_divisor",
				divisor)
			p := config(31, 8, 1)
			o := layer(t, s, p)
			moved(p)
			hidden := torch.NewStream(4, "hidden").Normal(0, 1, torch.Float64, device, 3, 8)
			loss, nll := o.Loss(torch.States{Hidden: hidden}, torch.FromInt64s([]int64{3, 15, 30}, device, 3), 1)
			near(t, "nll", nll.Float64s(), o.NLL(torch.States{Hidden: hidden},
				torch.FromInt64s([]int64{3, 15, 30}, device, 3)).Float64s(), 1e-12)
			l := o.method.Likelihood.(*Adaptive)
			want, total := 0.0, 0.0
			for row, c := range [][2]int64{{0, 3}, {1, 5}, {2, 10}} { // layer and place of each word
				layers := l.layers(hidden.Narrow(0, int64(row), 1))
				x := layers[c[0]]
				logP := torch.Linear(x.hidden, x.weight, x.bias).LogSoftmax(1).Float64s()
				word := x.weight.Narrow(0, c[1], 1)
				if divisor > 1 && c[0] > 0 {
					word = word.MatMul(l.tails[c[0]-1].projection)
				}
				radius := 0.3 * word.Norm(1, false).Item() * hidden.Narrow(0, int64(row), 1).Norm(1, false).Item()
				plain := -logP[c[1]]
				lowered := math.Log1p(math.Exp(radius) * math.Expm1(plain))
				total += lowered
				want += lowered - plain
				if c[0] > 0 {
					total -= torch.Linear(layers[0].hidden, layers[0].weight,
						layers[0].bias).LogSoftmax(1).Float64s()[10+c[0]-1]
				}
			}
			near(t, fmt.Sprint("loss with divisor ", divisor), loss.Float64s(), []float64{total}, 1e-12)
			near(t, "gain", []float64{o.Report()["adversarial_gain"]}, []float64{want}, 1e-12)
			release(o, p)
		}
	})
}

func TestAdaptiveCutoffs(t *testing.T) {
	for key, want := range map[string]string{"": "[500 2000 5000]", "none": "[]", "20, 40": "[20 40]", "7": "[7]"} {
		if ranks, err := cutoffs(key, 10000); err != nil || fmt.Sprint(ranks) != want {
			t.Errorf("cutoffs %q are %v (%v), want %s", key, ranks, err, want)
		}
	}
	for v, want := range map[int64]string{1: "[]", 2: "[1]", 3: "[1]", 5: "[1 2]", 40: "[2 8 20]"} {
		if ranks, _ := cutoffs("", v); fmt.Sprint(ranks) != want {
			t.Errorf("the cutoffs of %d words are %v, want %s", v, ranks, want)
		}
	}
	for _, key := range []string{"20,10", "5,5", "0,4", "-3", "a", "1,,2", "1 2", "1.5"} {
		s := unsmoothed()
		s.Set("adaptive_cutoffs", key)
		if _, err := s.Resolve(); err == nil ||
			!strings.Contains(err.Error(), "objective.adaptive_cutoffs is \""+key+"\": give rising ranks") {
			t.Errorf("cutoffs %q: the error is %v", key, err)
		}
	}
	torch.Test(t, func() {
		s := unsmoothed()
		s.Set("method", "adaptive", "adaptive_cutoffs", "20,31")
		p := config(31, 4, -1)
		defer p.Params.Free()
		if _, err := New(s, p); err == nil ||
			!strings.Contains(err.Error(), "the last must be below the vocabulary's size, 31") {
			t.Errorf("the error is %v", err)
		}
	})
}
