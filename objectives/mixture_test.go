package objectives

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// mixtureByHand is the loss of a mixture without dropout, made of plain operators:
// the parameters of a layer, its W [V,D] with its history, and what is taken off
// the target's score of each component for latent states [N,K,D], or nil.
func mixtureByHand(p Config, w, hidden, targets torch.Tensor, s Settings,
	shift func(latent torch.Tensor) torch.Tensor) torch.Tensor {
	get := func(name string) torch.Tensor { return p.Params.Get(p.Output + name) }
	n, k := hidden.Size(0), int64(Of[MixtureSettings](s).MixtureComponents)
	latent := torch.Linear(hidden, get(".latent.weight"), get(".latent.bias")).Tanh().Reshape(n, k, w.Size(1))
	var bias, off torch.Tensor
	if Of[SoftmaxSettings](s).Bias {
		bias = get(".bias")
	}
	if shift != nil {
		off = shift(latent)
	}
	loss, _, _ := torch.MixtureLoss(latent, hidden.MatMul(get(".prior.weight").Transpose(0, 1)), w, bias, targets, off,
		torch.SoftmaxLossOptions{
			Ignore: p.Padding, Smoothing: smoothings[Of[SoftmaxSettings](s).Smoothing],
			Epsilon: Of[SoftmaxSettings](s).LabelSmoothing,
			Scale:   0.5, Plain: true,
		})
	return loss
}

// TestMixtureEqualsReference checks loss and every gradient, on dense and factored
// matrices, smoothed, and perturbed by component in the three modes.
func TestMixtureEqualsReference(t *testing.T) {
	for _, method := range []string{"mos", "mos+spectrum", "mos+adversarial", "mos+spectrum+adversarial"} {
		for _, mode := range []string{"code", "paper", "full"} {
			if mode != "code" && !strings.Contains(method, "adversarial") {
				continue
			}
			t.Run(method+"/"+mode, func(t *testing.T) {
				torch.Test(t, func() {
					s := unsmoothed()
					s.Set("method", method, "mixture_components", 4, "mixture_dropout", 0, "label_smoothing", 0.1,
						"bias", true, "alpha", 0.3, "adversarial_mode", mode)
					p := config(31, 7, 1)
					o := layer(t, s, p)
					defer release(o, p)
					moved(p)
					data := torch.NewStream(1, "data").Normal(0, 1, torch.Float64, device, 9, 7)
					targets := torch.FromInt64s([]int64{0, 5, 30, 1, 9, 9, 17, 2, 29}, device, 9)
					fused, plain := leaf(data, torch.Float64), leaf(data, torch.Float64)
					loss, _ := o.Loss(torch.States{Hidden: fused}, targets, 0.5)
					loss.Backward()
					got := gradients(p)

					w := p.Params.Get(p.Embedding + ".weight")
					if e, factored := o.Embedding().(*Factored); factored {
						w = e.u.Mul(e.s.MulScalar(e.c)).MatMul(e.v.Transpose(0, 1))
					}
					var shift func(latent torch.Tensor) torch.Tensor
					if strings.Contains(method, "adversarial") {
						shift = func(latent torch.Tensor) torch.Tensor {
							rows, size := w.IndexSelect(0, targets).Norm(1, true), latent.Norm(2, false)
							switch mode {
							case "code":
								rows = rows.Detach()
							case "paper":
								rows, size = rows.Detach(), size.Detach()
							}
							return rows.Mul(size).MulScalar(0.3)
						}
					}
					want := mixtureByHand(p, w, plain, targets, s, shift)
					want.Backward()
					near(t, "loss", loss.Float64s(), want.Float64s(), 1e-12)
					near(t, "gradient of hidden", fused.Grad().Float64s(), plain.Grad().Float64s(), 1e-12)
					wanted := gradients(p)
					if len(got) != len(wanted) {
						t.Errorf("gradients of %d parameters, want %d", len(got), len(wanted))
					}
					for name, g := range wanted {
						near(t, "gradient of "+name, got[name], g, 1e-12)
					}
				})
			})
		}
	}
}

// TestMixtureOfOneComponent is a softmax of tanh(L h + l): its prior has no gradient.
func TestMixtureOfOneComponent(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Set("method", "mos", "mixture_components", 1, "mixture_dropout", 0)
		p := config(31, 7, -1)
		o := layer(t, s, p)
		defer release(o, p)
		hidden := torch.NewStream(1, "data").Normal(0, 1, torch.Float64, device, 5, 7)
		latent := torch.Linear(hidden, p.Params.Get("decoder.output_projection.latent.weight"),
			p.Params.Get("decoder.output_projection.latent.bias")).Tanh()
		want := torch.Linear(latent, o.Embedding().Matrix(), torch.Tensor{}).LogSoftmax(1)
		near(t, "log-probabilities", o.LogProbs(hidden).Float64s(), want.Float64s(), 1e-13)
		loss, _ := o.Loss(torch.States{Hidden: hidden}, torch.FromInt64s([]int64{0, 4, 30, 4, 7}, device, 5), 1)
		loss.Backward()
		near(t, "gradient of the prior", gradients(p)["decoder.output_projection.prior.weight"], make([]float64, 7),
			1e-14)
	})
}

// TestMixtureStarts as PyTorch's linear maps do, under the names of its parameters.
func TestMixtureStarts(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Set("method", "mos", "bias", true)
		p := config(47, 16, 1)
		p.Hidden = 25
		o := layer(t, s, p)
		defer release(o, p)
		for name, shape := range map[string][]int64{
			"decoder.embed_tokens.weight": {47, 16}, "decoder.output_projection.prior.weight": {15, 25},
			"decoder.output_projection.bias":          {47},
			"decoder.output_projection.latent.weight": {15 * 16, 25},
			"decoder.output_projection.latent.bias":   {15 * 16},
		} {
			x := p.Params.Get(name)
			if !slices.Equal(x.Shape(), shape) {
				t.Fatalf("%s has shape %v, want %v", name, x.Shape(), shape)
			}
			if strings.Contains(name, "latent") || strings.Contains(name, "prior") {
				near(t, "bound of "+name, []float64{slices.Max(x.Abs().Float64s())}, []float64{0.2}, 0.01)
			}
		}
		if got := len(p.Params.Names()); got != 5 {
			t.Errorf("there are %d parameters: %v", got, p.Params.Names())
		}
		sums := o.LogProbs(torch.NewStream(2, "data").Normal(0, 1, torch.Float64, device, 3, 25)).Exp().SumDim(1, false)
		near(t, "sum of probabilities", sums.Float64s(), []float64{1, 1, 1}, 1e-13)

		q := config(47, 16, 1)
		q.Hidden = 25
		if _, err := New(unsmoothed(), q); err == nil ||
			!strings.Contains(err.Error(), "hidden states have 25 columns and the output matrix 16") {
			t.Errorf("a softmax of wider states: the error is %v", err)
		}
		q.Params.Free()
	})
}

// TestLatentDropoutIsLocked: one mask for a column and component, whatever the
// time; other columns, components and calls have others; evaluation has none.
func TestLatentDropoutIsLocked(t *testing.T) {
	torch.Test(t, func() {
		const k, d = 3, 64
		s := unsmoothed()
		s.Set("method", "mos", "mixture_components", k, "mixture_dropout", 0.4)
		p := config(31, d, 1)
		o := layer(t, s, p)
		defer release(o, p)
		l := o.method.Likelihood.(*Mixture)
		states := torch.States{Time: []int64{0, 1, 0, 1, 2}, Column: []int64{0, 0, 1, 1, 1}, Columns: 2}
		draw := func(s torch.States) [][]float64 { // by row and component
			x := l.drop(torch.Full(1, torch.Float64, device, 5, k, d), s).Float64s()
			var parts [][]float64
			for i := range 5 * k {
				parts = append(parts, x[i*d:(i+1)*d])
			}
			return parts
		}
		first := draw(states)
		for row, column := range states.Column {
			for c := range k {
				start := slices.Index(states.Column, column)
				if !slices.Equal(first[row*k+c], first[start*k+c]) {
					t.Errorf("column %d, component %d: the mask changes with time", column, c)
				}
			}
		}
		different := [][]float64{first[0], first[1], first[2], first[6], first[7], first[8], draw(states)[0]}
		kept := 0
		for i, a := range different {
			for _, b := range different[:i] {
				if slices.Equal(a, b) {
					t.Error("two columns, components or calls share a mask")
				}
			}
			for _, v := range a {
				if v != 0 {
					kept++
					near(t, "what is kept", []float64{v}, []float64{1 / 0.6}, 1e-12)
				}
			}
		}
		near(t, "share kept", []float64{float64(kept) / float64(len(different)*d)}, []float64{0.6}, 0.08)
		if rows := draw(torch.States{}); slices.Equal(rows[0], rows[k]) {
			t.Error("rows without a column share a mask")
		}

		stream := o.Streams()["latent dropout"]
		before := stream.Offset
		hidden := torch.NewStream(2, "data").Normal(0, 1, torch.Float64, device, 2, d)
		targets := torch.FromInt64s([]int64{4, 5}, device, 2)
		clean := o.NLL(torch.States{Hidden: hidden}, targets)
		if stream.Offset != before {
			t.Error("evaluation draws")
		}
		_, nll := o.Loss(torch.States{Hidden: hidden}, targets, 1)
		if slices.Equal(nll.Float64s(), clean.Float64s()) || stream.Offset == before {
			t.Error("training does not drop")
		}
		stream.Offset = before
		if _, again := o.Loss(torch.States{Hidden: hidden}, targets, 1); !slices.Equal(again.Float64s(), nll.Float64s()) {
			t.Error("the stream's offset does not restore its masks")
		}
	})
}

// TestJoinsTrain trains every join of a mixture or an adaptive softmax on words
// that hidden states give away, until the loss has fallen by half.
func TestJoinsTrain(t *testing.T) {
	for _, method := range []string{
		"mos", "mos+adversarial", "mos+spectrum", "mos+cosreg", "mos+cosreg+adversarial",
		"mos+spectrum-poly+adversarial",
		"adaptive", "adaptive+adversarial", "adaptive+spectrum", "adaptive+cosreg", "adaptive+spectrum+adversarial",
	} {
		t.Run(method, func(t *testing.T) {
			torch.Test(t, func() {
				const n, v, d = 60, 41, 12
				s := unsmoothed()
				s.Set("method", method, "mixture_components", 3, "label_smoothing", 0.1, "lambda_u_spectral", 0.5)
				p := config(v, d, 1)
				p.DType = torch.Float32
				o := layer(t, s, p)
				defer release(o, p)
				ids, columns := make([]int64, n), make([]int64, n)
				for i := range ids {
					ids[i], columns[i] = int64(i*i)%v, int64(i%4)
				}
				hidden := torch.NewStream(3, "words").Normal(0, 1, torch.Float32, device, v, d).IndexSelect(0,
					torch.FromInt64s(ids, device, n))
				targets := torch.FromInt64s(ids, device, n)
				states := torch.States{Hidden: hidden, Column: columns, Columns: 4}
				adam := torch.NewAdam(p.Params.Tensors(), torch.AdamOptions{Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-8})
				defer adam.Free()
				at := func() float64 { return o.NLL(states, targets).Mean().Item() }
				before := at()
				for range 40 {
					step := torch.OpenScope()
					loss, _ := o.Loss(states, targets, 1.0/n)
					loss.Backward()
					o.Penalize()
					adam.Step(0.03)
					torch.ZeroGrad(p.Params.Tensors())
					o.Constrain(0.03)
					step.Close()
				}
				after := at()
				if !(after < before/2) {
					t.Errorf("the loss goes from %v to %v", before, after)
				}
				for name, value := range o.Report() {
					if math.IsNaN(value) || math.IsInf(value, 0) {
						t.Errorf("%s is %v", name, value)
					}
				}
				sums := o.LogProbs(hidden.Narrow(0, 0, 3)).Exp().SumDim(1, false).Float32s()
				for _, sum := range sums {
					if math.Abs(float64(sum)-1) > 1e-5 {
						t.Errorf("probabilities sum to %v", sum)
					}
				}
			})
		})
	}
}

// TestMixtureRefuses says which constants make no sense.
func TestMixtureRefuses(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"objective.mixture_components = 0 is out of range: it " +
			"wants": func(s *Settings) { s.Set("mixture_components", 0) },
		"objective.mixture_dropout = 1.0 is out of range: it " +
			"wants": func(s *Settings) { s.Set("mixture_dropout", 1) },
		"objective.adaptive_divisor = 0.5 is out of range: it " +
			"wants": func(s *Settings) { s.Set("adaptive_divisor", 0.5) },
		"objective.adaptive_divisor = nan is out of range: it " +
			"wants": func(s *Settings) { s.Set("adaptive_divisor", math.NaN()) },
		"mos and adaptive do not join: each says how a hidden state is " +
			"scored": func(s *Settings) { s.Method = "mos+adaptive" },
		"mle and mos do not join: each says how a hidden state is scored " +
			"against": func(s *Settings) { s.Method = "mle+mos" },
	} {
		s := unsmoothed()
		change(&s)
		if _, err := s.Resolve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
	if got := fmt.Sprint(Of[MixtureSettings](Defaults()).MixtureComponents,
		Of[MixtureSettings](Defaults()).MixtureDropout); got != "15 0.29" {
		t.Errorf("the defaults are %s, the published ones 15 0.29", got)
	}
}
