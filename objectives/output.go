package objectives

import (
	"maps"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/torch"
)

// Output is an output layer: a method's pieces, made for one vocabulary and width. A training step reads
//
//	loss, nll := output.Loss(states, targets, 1/tokensOfTheUpdate)
//	loss.Backward()
//	// ... after the last batch of the update:
//	output.Penalize()
//	output.ClipGrad(params, limit)
//	optimizer.Step(rate)
//	output.Constrain(rate)
type Output struct {
	method    Pieces
	config    Config
	kept      kept
	own       []string                // names of the embedding's parameters
	penalties map[string]torch.Tensor // values of the last update by name, kept
	states    []updateSum             // what each penalty of hidden states added to the loss
}

// New makes the output layer that the settings name. It is an error where the
// settings or the configuration make no sense; the message says which and what would.
func New(s Settings, p Config) (*Output, error) {
	method, err := s.resolve(p.SGD)
	if err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	o := &Output{method: method, penalties: map[string]torch.Tensor{}, states: make([]updateSum, len(method.States))}
	o.kept.buffers, o.kept.streams = map[string]torch.Tensor{}, map[string]*torch.Stream{}
	o.config = p
	o.config.kept = &o.kept
	if o.kept.draws = p.Stream; !p.Stream.IsUnset() {
		o.kept.draws = p.Stream.Derive("output layer")
	}
	if err := torch.Try(o.init); err != nil {
		o.Free()
		return nil, err
	}
	return o, nil
}

func (o *Output) init() error {
	p, before := o.config, len(o.config.Params.Names())
	first := p.Stream.Offset
	if err := o.method.Embedding.Init(p); err != nil {
		return err
	}
	p.Stream.Offset = first + 1 // where W is frozen, too
	o.own = slices.Clone(p.Params.Names()[before:])
	if err := o.method.Likelihood.Init(o.method.Embedding, p); err != nil {
		return err
	}
	for _, r := range o.method.Regularizers {
		if err := r.Init(o.method.Embedding, p); err != nil {
			return err
		}
		if penalty, ok := r.(Penalty); ok {
			scope := torch.OpenScope()
			value := torch.Zeros(p.dtype(), p.Device)
			p.keep(value)
			scope.Close()
			o.penalties[penalty.Name()] = value
		}
	}
	for _, r := range o.method.States {
		if err := r.Init(p); err != nil {
			return err
		}
	}
	return nil
}

// Embedding is the parameterisation of W, for measures.
func (o *Output) Embedding() Embedding { return o.method.Embedding }

// WordMatrix is the trained parameter whose rows belong to words: W, or U of a factored W; the zero Tensor where word
// vectors are frozen.
func (o *Output) WordMatrix() torch.Tensor {
	switch e := o.method.Embedding.(type) {
	case *Dense:
		return e.weight
	case *Factored:
		return e.u
	}
	return torch.Tensor{}
}

// Lookup gives rows of W, for models whose input is tied to it: for int64 ids
// [...] the result is [...,D]. The factor sqrt(D) is the model's.
func (o *Output) Lookup(ids torch.Tensor) torch.Tensor { return o.method.Embedding.Lookup(ids) }

// Loss is what a batch adds to the update's loss: summed over targets [N] that are not padding and times scale,
// 1/(targets of the whole update), so that one update has the same gradients however it is cut into batches. The second
// result is the clean negative log-likelihood of each row [N], in nats.
func (o *Output) Loss(s torch.States, targets torch.Tensor, scale float64) (loss, nll torch.Tensor) {
	loss, nll = o.method.Likelihood.Loss(s, targets, scale)
	for i, r := range o.method.States {
		penalty := penaltyOfStates(r, s, scale)
		loss = loss.Add(penalty)
		torch.ScopedNoGrad(func() { o.states[i].add(penalty.Detach()) })
	}
	return loss, nll
}

// NLL is the clean negative log-likelihood of each row [N] in nats, 0 at padding:
// what perplexity is made of. It records no gradients.
func (o *Output) NLL(s torch.States, targets torch.Tensor) torch.Tensor {
	return o.method.Likelihood.NLL(s, targets)
}

// search says how a search reads the likelihood.
func (o *Output) search() Search {
	if l, ok := o.method.Likelihood.(Searched); ok {
		return l.Search()
	}
	return Search{}
}

// Perplexity is the exponential of a mean clean loss, or NaN where the method gives words no
// probabilities: neither a density of vectors nor a distance is one.
func (o *Output) Perplexity(loss float64) float64 {
	if o.search().Nearest != nil {
		return math.NaN()
	}
	return math.Exp(loss)
}

// InNats reports whether the clean loss is minus the log of a probability or of a density. Where
// it is a distance, it is no log-likelihood.
func (o *Output) InNats() bool { return !o.search().Distance }

// LogProbs gives log-probabilities [N,V] of hidden states [N,D] for decoding, without gradients, or the scores of a
// method that has none (see [Likelihood]).
func (o *Output) LogProbs(hidden torch.Tensor) torch.Tensor {
	return o.method.Likelihood.LogProbs(hidden)
}

// Nearest gives the k nearest target vectors of hidden states [N,D], best first: scores
// and ids, both [N,k]. ok is false where the method has no target vectors.
func (o *Output) Nearest(hidden torch.Tensor, k int) (scores, ids torch.Tensor, ok bool) {
	nearest := o.search().Nearest
	if nearest == nil {
		return torch.Tensor{}, torch.Tensor{}, false
	}
	scores, ids = nearest(hidden, k)
	return scores, ids, true
}

// Penalize adds the gradients of the penalties, with weight 1. It is called once per update, after its last batch and
// before clipping, where processes have added up what Shared gives. The values stay where they were computed until
// Report asks for them.
func (o *Output) Penalize() {
	for _, r := range o.method.Regularizers {
		penalty, ok := r.(Penalty)
		if !ok {
			continue
		}
		scope := torch.OpenScope()
		value := penalty.Penalty()
		value.Backward()
		o.penalties[penalty.Name()].Assign(value.Detach())
		scope.Close()
	}
	for _, r := range o.method.Regularizers {
		if transform, ok := r.(GradientTransform); ok {
			scope := torch.OpenScope()
			transform.TransformGradients()
			scope.Close()
		}
	}
	for _, piece := range o.method.all() {
		if p, ok := piece.(updateEnd); ok {
			p.endUpdate()
		}
	}
	for _, sum := range o.sums() {
		sum.ended = true
	}
}

// ClipGrad scales the gradients of params down so that their joint norm is at most limit, 0 or less only measures.
// Parameters that the method clips in groups count in norms of their own. It returns the norms before, of each group
// and of all others; JointNorm makes one of their values.
func (o *Output) ClipGrad(params []torch.Tensor, limit float64) (norms []torch.Tensor) {
	var apart []torch.Tensor
	if o.method.ClipApart {
		for _, name := range o.own {
			apart = append(apart, o.config.Params.Get(name))
		}
	}
	for _, p := range apart {
		norms = append(norms, torch.ClipGrad([]torch.Tensor{p}, limit))
	}
	var others []torch.Tensor
	for _, p := range params {
		if !slices.Contains(apart, p) {
			others = append(others, p)
		}
	}
	return append(norms, torch.ClipGrad(others, limit))
}

// JointNorm is the norm of all gradients from the values of what ClipGrad returns.
func JointNorm(norms []float64) (joint float64) {
	for _, norm := range norms {
		joint = math.Hypot(joint, norm)
	}
	return joint
}

// averageFixers are the pieces that fix averaged weights.
func (o *Output) averageFixers() (all []AverageFixer) {
	for _, piece := range o.method.all() {
		if f, ok := piece.(AverageFixer); ok {
			all = append(all, f)
		}
	}
	return all
}

// FixesAverage reports whether a mean of weights needs FixAverage.
func (o *Output) FixesAverage() bool { return len(o.averageFixers()) > 0 }

// FixAverage gives averaged weights, all parameters by name, the properties of the method's weights again, in place,
// such as orthonormal columns. Predictions do not change, except where a constraint of the method fixes the size of W.
// Where the average continues, as a moving average does, fix a copy of it.
func (o *Output) FixAverage(weights map[string]torch.Tensor) {
	for _, f := range o.averageFixers() {
		f.FixAverage(weights)
	}
}

// Simplify turns weights of the layer, all parameters by name, into those with which a layer of [Settings.Simplified]
// scores as this one does: W, however it is parameterised, becomes one matrix.
func (o *Output) Simplify(weights map[string]torch.Tensor) {
	if o.method.WordTargets {
		return // W is no parameter
	}
	matrix := o.config.Embedding + ".weight"
	if slices.Equal(o.own, []string{matrix}) {
		return // it is one matrix already
	}
	for _, name := range o.own {
		delete(weights, name)
	}
	weights[matrix] = o.method.Embedding.Matrix()
	if rows := o.method.Embedding.Head().Rows; rows != nil {
		for _, name := range o.kept.rows {
			weights[name] = rows(weights[name])
		}
	}
}

// SoftmaxHead gives what a softmax over the whole vocabulary scores with, for a search that takes scores and the best
// of them in one pass: the head and the bias [V] or the zero Tensor. ok is false for other likelihoods.
func (o *Output) SoftmaxHead() (head Head, bias_V torch.Tensor, ok bool) {
	s := o.search()
	return s.Head, s.Bias, s.Softmax
}

// Report gives what the layer tracks, by name: the penalties of the last update; what penalties of hidden states, and a
// perturbation (without smoothing), added to its loss, by the penalty's name and by the perturbation's with _gain; and
// what pieces report, such as orthogonality_u and orthogonality_v of a factored embedding. Reading them waits for the
// device.
func (o *Output) Report() map[string]float64 {
	values := make(map[string]float64, len(o.penalties)+1)
	for name, value := range o.penalties {
		values[name] = value.Item()
	}
	for _, report := range o.kept.reports {
		maps.Copy(values, report())
	}
	for name, sum := range o.sums() {
		if sum.value.Defined() {
			values[name] = sum.value.Item()
		}
	}
	return values
}

// sums are the numbers of the last update that its batches added to, by name.
func (o *Output) sums() map[string]*updateSum {
	sums := map[string]*updateSum{}
	if l, ok := o.method.Likelihood.(SoftmaxLikelihood); ok && o.method.Perturbation != nil {
		sums[o.method.Perturbation.Name()+"_gain"] = &l.training().gain
	}
	for i, r := range o.method.States {
		sums[r.Name()] = &o.states[i]
	}
	return sums
}

// Partial are numbers that Report will give, each the sum of what the batches of the last update added: processes that
// share out an update add theirs up.
func (o *Output) Partial() (numbers []torch.Tensor) {
	sums := o.sums()
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if sum := sums[name]; sum.value.Defined() {
			numbers = append(numbers, sum.value)
		}
	}
	return numbers
}

// Shared are what the batches of an update add to and Penalize reads: processes that share out the update make them
// their sums before it.
func (o *Output) Shared() []torch.Tensor { return o.kept.shared }

// Constrain makes the weights obey the method's constraints, after the optimizer's step of that learning rate.
func (o *Output) Constrain(rate float64) {
	for _, r := range o.method.Regularizers {
		if constraint, ok := r.(Constraint); ok {
			scope := torch.OpenScope()
			constraint.Constrain(rate)
			scope.Close()
		}
	}
}

// Buffers are tensors that are not trained but belong in a checkpoint, by name;
// most methods have none. A reader assigns to them.
func (o *Output) Buffers() map[string]torch.Tensor { return o.kept.buffers }

// Streams are what the layer draws from in training, by name. Their offsets belong in a checkpoint.
func (o *Output) Streams() map[string]*torch.Stream { return o.kept.streams }

// Free frees what the layer keeps beside its parameters.
func (o *Output) Free() {
	torch.Free(o.kept.tensors...)
	torch.Free(o.Partial()...)
	o.kept.tensors = nil
}
