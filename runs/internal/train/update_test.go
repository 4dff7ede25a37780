package train

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestUpdatesByHand: updates of the loop give the weights that the pieces give which are called one by one here, with
// the options written out. So each key reaches its piece, and every term the loss.
func TestUpdatesByHand(t *testing.T) {
	const rate, updates = 0.02, 3
	plain := torch.AdamOptions{Beta1: 0.7, Beta2: 0.8, Epsilon: 1e-3, WeightDecay: 0.1}
	adam := func(change func(*torch.AdamOptions)) func(*trainer) optimizer {
		o := plain
		change(&o)
		return func(r *trainer) optimizer { return torch.NewAdam(r.Params.Tensors(), o) }
	}
	sgd := func(r *trainer) optimizer { return plainDescent{r.Params.Tensors(), 0.1} }
	folders := map[bool]string{false: workplace(t), true: textPlace(t)}
	weights := map[string]map[string][]float64{}
	for name, c := range map[string]struct {
		language  bool
		arguments []string
		optimizer func(*trainer) optimizer
		sentences bool
		clip      float64
	}{
		"adam": {arguments: []string{"-set=train.optimizer=adam"}, optimizer: adam(func(*torch.AdamOptions) {})},
		"adam, fairseq's": {arguments: []string{"-set=train.optimizer=adam", "-set=train.epsilon_placement=fairseq"},
			optimizer: adam(func(o *torch.AdamOptions) { o.FairseqEpsilon = true })},
		"adamw": {arguments: []string{"-set=train.optimizer=adamw"},
			optimizer: adam(func(o *torch.AdamOptions) { o.Decoupled = true })},
		"radam": {arguments: []string{"-set=train.optimizer=radam"},
			optimizer: adam(func(o *torch.AdamOptions) { o.Decoupled, o.Rectified = true, true })},
		"coupled-adam": {arguments: []string{"-set=train.optimizer=coupled-adam"},
			optimizer: func(r *trainer) optimizer {
				o := plain
				o.Decoupled = true
				a := torch.NewAdam(r.Params.Tensors(), o)
				a.Couple(r.Output.WordMatrix())
				return a
			}},
		"sgd": {arguments: []string{"-set=train.optimizer=sgd"}, optimizer: sgd},
		"clipped": {arguments: []string{"-set=train.optimizer=sgd", "-set=train.clip_norm=0.3"}, optimizer: sgd,
			clip: 0.3},
		"by sentences": {arguments: []string{"-set=train.optimizer=sgd", "-set=train.normalise=sentences"},
			optimizer: sgd, sentences: true},
		"a penalty": {arguments: []string{"-set=train.optimizer=sgd", "-method=spectrum",
			"-set=objective.lambda_prior=30"}, optimizer: sgd},
		"a constraint": {arguments: []string{"-set=train.optimizer=sgd", "-method=centre"}, optimizer: sgd},
		"a proximal step": {arguments: []string{"-set=train.optimizer=sgd", "-method=spectrum",
			"-set=objective.lambda_prior=30", "-set=objective.spectrum_hold=proximal"}, optimizer: sgd},
		"language": {language: true, arguments: []string{"-set=train.clip_norm=0"}, optimizer: sgd},
		"without ar and tar": {language: true, arguments: []string{"-set=train.clip_norm=0", "-set=train.ar=0",
			"-set=train.tar=0"}, optimizer: sgd},
		"averaged": {language: true, arguments: []string{"-set=train.clip_norm=0", "-set=train.asgd=finetune"},
			optimizer: func(r *trainer) optimizer { return torch.NewASGD(r.Params.Tensors(), 0.1, true) }},
	} {
		with := func(out string, body func(r *trainer)) {
			folder, parse := folders[c.language], parse
			arguments := []string{"-out", filepath.Join(folder, name+out), fmt.Sprint("-steps=", updates),
				fmt.Sprint("-set=train.learning_rate=", rate), "-set=train.weight_decay=0.1", "-set=train.accumulate=2",
				"-set=schedule.kind=constant", "-set=schedule.warmup=0"}
			if c.language {
				parse = parseText
			} else {
				arguments = append(arguments, "-set=train.beta1=0.7", "-set=train.beta2=0.8", "-set=train.epsilon=1e-3",
					"-set=train.epsilon_placement=pytorch")
			}
			withTrainer(t, parse(t, folder, append(arguments, c.arguments...)...), body)
		}
		with(" by the loop", func(r *trainer) {
			if err := r.loop(context.Background()); err != nil {
				t.Fatal(err)
			}
			weights[name] = r.weights()
		})
		with(" by hand", func(r *trainer) {
			params, optimizer := r.Params.Tensors(), c.optimizer(r)
			defer optimizer.Free()
			for range updates {
				u, err := r.updates.Next()
				if err != nil {
					t.Fatal(err)
				}
				scope := torch.OpenScope()
				scale := 1 / float64(u.Tokens)
				if c.sentences {
					scale = 1 / float64(u.Sentences)
				}
				for _, b := range u.Batches {
					states, targets := b.Forward(r.dropout)
					loss, _ := r.Output.Loss(states, targets, scale)
					if extra := states.Extra(); extra.Defined() {
						loss = loss.Add(extra)
					}
					states.Backward(loss)
				}
				r.Output.Penalize()
				r.Output.ClipGrad(params, c.clip)
				optimizer.Step(rate * u.Rate)
				torch.ZeroGrad(params)
				r.Output.Constrain(rate * u.Rate)
				scope.Close()
			}
			if d := distance(weights[name], r.weights()); d > 1e-6 {
				t.Errorf("%s: the loop's weights differ by %g from those by hand", name, d)
			}
		})
	}
	for a := range weights {
		for b := range weights {
			if a < b && slices.Equal(slices.Sorted(maps.Keys(weights[a])), slices.Sorted(maps.Keys(weights[b]))) {
				if d := distance(weights[a], weights[b]); d < 1e-5 {
					t.Errorf("%s and %s give weights that differ by %g only, so that this test sees nothing", a, b, d)
				}
			}
		}
	}
}

// optimizer is what an update's weights are moved by.
type optimizer interface {
	Step(rate float64)
	Free()
}

// plainDescent is gradient descent with weight decay, which keeps nothing.
type plainDescent struct {
	params []torch.Tensor
	decay  float64
}

func (d plainDescent) Step(rate float64) { torch.SGD(d.params, rate, d.decay) }
func (d plainDescent) Free()             {}

// distance is the largest difference of two networks' weights.
func distance(a, b map[string][]float64) float64 {
	largest := 0.0
	for name := range a {
		for i, x := range a[name] {
			largest = math.Max(largest, math.Abs(x-b[name][i]))
		}
	}
	return largest
}
