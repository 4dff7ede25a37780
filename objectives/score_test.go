package objectives

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// plainly keeps losses from their fused kernels.
type plainly struct{}

func (plainly) Apply(o *torch.SoftmaxLossOptions) { o.Plain = true }

// with adds to what an output layer's likelihood does to scores and their loss.
func (o *Output) with(terms ...LossTerm) {
	switch l := o.method.Likelihood.(type) {
	case *Softmax:
		l.terms = append(l.terms, terms...)
	case *Mixture:
		l.terms = append(l.terms, terms...)
	case *Adaptive:
		l.terms = append(l.terms, terms...)
	}
}

// capped is 2 tanh(z/2) of scores z.
var capped = ScoreTransform(func(scores torch.Tensor) torch.Tensor { return scores.MulScalar(0.5).Tanh().MulScalar(2) })

// softmaxes are settings of every embedding with every likelihood of the softmax family, by what they are: with each
// kind of label smoothing and without; with each kind of perturbation and without; with the z-loss and without; with a
// bias and without.
func softmaxes(each func(what string, s Settings)) {
	for _, embedding := range []string{"", "+spectrum"} {
		for _, likelihood := range []string{"", "+mos", "+adaptive", "+adaptive narrowed"} {
			for _, smoothing := range []string{"", "fairseq", "pytorch", "t2t"} {
				for _, perturbation := range []string{"", "code", "full"} {
					for _, term := range []string{"", "+zloss"} {
						for _, bias := range []bool{false, true} {
							s := unsmoothed()
							s.Set("method", embedding+term, "mixture_components", 3, "mixture_dropout", 0)
							s.Method += strings.TrimSuffix(likelihood, " narrowed")
							if likelihood == "+adaptive narrowed" {
								s.Set("adaptive_divisor", 2)
							}
							if smoothing != "" {
								s.Set("label_smoothing", 0.1, "smoothing", smoothing)
							}
							if perturbation != "" {
								s.Method += "+adversarial"
								s.Set("alpha", 0.1, "adversarial_mode", perturbation)
							}
							if s.Method = strings.TrimPrefix(s.Method, "+"); s.Method == "" {
								s.Method = "mle"
							}
							s.Set("zeta", 0.03, "bias", bias, "adaptive_cutoffs", "9,20")
							each(fmt.Sprint(s.Method, Of[AdaptiveSettings](s).AdaptiveDivisor, " ", smoothing, " ",
								perturbation, " bias ", bias), s)
						}
					}
				}
			}
		}
	}
}

// TestFusedEqualsPlain holds what fused kernels compute to the plain function of scores, in values and all gradients,
// for all that the methods of the softmax family can be, in float64, float32 and bfloat16.
func TestFusedEqualsPlain(t *testing.T) {
	const v, d, n = 31, 7, 13
	torch.Test(t, func() {
		softmaxes(func(what string, s Settings) {
			for name, limit := range map[string]float64{"float64": 1e-10, "float32": 2e-5, "bfloat16": 0.05} {
				p := config(v, d, 2)
				if name != "float64" {
					p.DType = torch.Float32
				}
				scope := torch.OpenScope()
				o := layer(t, s, p)
				moved(p)
				stream := torch.NewStream(4, "data")
				hidden := stream.Normal(0, 1, p.dtype(), device, n, d)
				targets := stream.Uniform(0, v, torch.Float64, torch.CPU, n).To(torch.Int64, torch.CPU)
				run := func() map[string][]float64 {
					h := leaf(hidden, p.dtype())
					values := map[string][]float64{}
					torch.Autocast(name == "bfloat16", device, func() {
						loss, nll := o.Loss(torch.States{Hidden: h}, targets, 1.0/n)
						loss.Backward()
						values["loss"], values["nll"], values["hidden"] = loss.Float64s(), nll.Float64s(),
							h.Grad().Float64s()
					})
					for parameter, g := range gradients(p) {
						values[parameter] = g
					}
					return values
				}
				fused := run()
				o.with(plainly{})
				plain := run()
				if len(plain) != len(fused) || len(plain) < 4 {
					t.Errorf("%s, %s: %d results, and %d of the fused kernel", what, name, len(plain), len(fused))
				}
				for result, x := range plain {
					near(t, fmt.Sprint(what, ", ", name, ": ", result), fused[result], x, limit)
				}
				release(o, p)
				scope.Close()
			}
		})
	})
}

// TestTransformOfScores: every likelihood trains, evaluates and decodes with the same transformed scores, whatever else
// is done to its loss, and no search takes them for those of a plain softmax.
func TestTransformOfScores(t *testing.T) {
	const v, d, n = 31, 7, 13
	torch.Test(t, func() {
		softmaxes(func(what string, s Settings) {
			p := config(v, d, -1)
			scope := torch.OpenScope()
			defer scope.Close()
			o := layer(t, s, p)
			defer release(o, p)
			moved(p)
			hidden := torch.NewStream(4, "data").Normal(0, 4, torch.Float64, device, n, d)
			ids := []int64{0, 30, 4, 17, 0, 8, 9, 10, 19, 20, 21, 5, 2}
			targets := torch.FromInt64s(ids, torch.CPU, n)
			states := torch.States{Hidden: hidden}
			before := o.NLL(states, targets).Float64s()
			o.with(capped)
			after := o.NLL(states, targets).Float64s()
			_, ofTraining := o.Loss(states, targets, 1)
			near(t, what+": nll of training", ofTraining.Float64s(), after, 1e-12)
			want := make([]float64, n)
			logProbs := o.LogProbs(hidden).Float64s()
			changed := 0.0
			for i, id := range ids {
				want[i] = -logProbs[i*v+int(id)]
				changed = math.Max(changed, math.Abs(after[i]-before[i]))
				sum := 0.0
				for _, x := range logProbs[i*v : (i+1)*v] {
					sum += math.Exp(x)
				}
				near(t, what+": the sum of probabilities", []float64{sum}, []float64{1}, 1e-12)
			}
			near(t, what+": log-probabilities", want, after, 1e-12)
			if _, _, ok := o.SoftmaxHead(); ok || changed < 0.1 {
				t.Errorf("%s: the transform changes losses by %v; a search takes scores for plain ones: %v", what,
					changed, ok)
			}
		})
	})
}

// TestTransformsFollowEachOther: the later sees what the earlier gives, and both are left in a simplified layer.
func TestTransformsFollowEachOther(t *testing.T) {
	torch.Test(t, func() {
		twice := ScoreTransform(func(scores torch.Tensor) torch.Tensor { return scores.MulScalar(2) })
		var o torch.SoftmaxLossOptions
		for _, term := range []LossTerm{twice, ZLoss(1), capped} {
			term.Apply(&o)
		}
		got := o.Transform(torch.FromFloat64s([]float64{0.5}, device, 1, 1)).Float64s()
		near(t, "capped after twice", got, []float64{2 * math.Tanh(0.5)}, 1e-12)
		if !transforms([]LossTerm{ZLoss(1), capped}) || transforms([]LossTerm{ZLoss(1), LabelSmoothing{}}) {
			t.Error("a transform is not told from a term")
		}
	})
}
