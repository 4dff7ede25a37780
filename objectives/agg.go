package objectives

import (
	"errors"

	"github.com/aperture-ml/aperture/torch"
)

// agg is the method: a term of the loss, which gates what W gets of its gradient.
var agg = Method{
	Name:    "agg",
	Summary: "weakens the gradient that pushes rare words away from the states of other words",
	Paper:   "Yu et al. 2022",
	Formula: "mle, where the gradient of row k of W from a position with another target is scaled by how often word " +
		"k has occurred, if it is rare", Parameters: "none",
	Cost:     "a few operations for each score; no fused kernel",
	Settings: []any{AGGSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		a := &AGG{Alpha: Of[AGGSettings](s).AGGAlpha}
		return Pieces{Terms: []LossTerm{a}, Regularizers: []Regularizer{a}}
	},
}

// AGGSettings are the keys of adaptive gradient gating.
type AGGSettings struct {
	AGGAlpha float64 `toml:"agg_alpha" default:"0.03" range:"[0,inf)" help:"agg: a word that has occurred less often than this per update is rare; the authors have 0.03 for language models and 0.08 for translation"`
}

// AGG is adaptive gradient gating (Yu, Song, Kim, Lee, Ryu and Yoon 2022, "Rare tokens degenerate all tokens: Improving
// neural text generation via adaptive gradient gating for rare token embeddings"). In a softmax every position pushes
// the rows of W of all words but its target away from its state. Rare words get little else, which drives them into the
// same direction. The gates weaken that push. With n_k the occurrences of word k and a_k = n_k / updates,
//
//	R = {k : a_k < alpha}, the rare words
//	g1_k = a_k                        for k of R, else 1: gates of positions whose target is not rare
//	g2_k = min(1, n_k / mean_R(n))    for k of R, else 1: gates of positions whose target is rare
//	dW_k = sum over positions of g_k dz_k h, g = 1 at the target itself
//
// where dz_k is the gradient of score k, with smoothing and all terms. Hidden states, the bias and a tied input get the
// gradients of mle. The authors reach the same by three losses with parts held constant, of which the reported loss
// here is one.
//
// Departures: the authors count over the last K updates, K those of an epoch, and the update under way among them; here
// n counts all earlier updates. The two rates agree, but for the update under way, in the first epoch and at the end of
// each, since every epoch has the same words, and counts of earlier updates make gates the same for all batches and
// processes of an update; with several processes the authors count the words of the first alone. Before the first
// update nothing is rare.
//
// In a factored W = U diag(s) V^T the rows of U are gated, s and V are not. Legend: N positions, V words.
type AGG struct {
	Alpha float64

	negligible
	counts_V, updates torch.Tensor // of earlier updates; [V] and [1], float64
	now_V             torch.Tensor // counts of the update under way
	specials_V        torch.Tensor // bool
	dtype             torch.DType  // of the gates
}

// Init makes the counts, which belong in a checkpoint.
func (a *AGG) Init(e Embedding, p Config) error {
	switch e.(type) {
	case *Dense, *Factored:
	default:
		return errors.New("gates weaken the gradient of a matrix that is trained, and there is none")
	}
	a.dtype = p.dtype()
	scope := torch.OpenScope()
	defer scope.Close()
	zeros := func(n int64) torch.Tensor { return torch.Zeros(torch.Float64, p.Device, n) }
	a.counts_V, a.updates, a.now_V = zeros(p.Vocabulary), zeros(1), zeros(p.Vocabulary)
	p.buffer("agg_counts", a.counts_V)
	p.buffer("agg_updates", a.updates)
	p.share(a.now_V)
	limit := torch.Full(float64(p.Specials), torch.Int64, p.Device, p.Vocabulary)
	a.specials_V = torch.Arange(p.Vocabulary, p.Device).Less(limit)
	p.keep(a.specials_V)
	return nil
}

// Batch counts the targets of a batch.
func (a *AGG) Batch(targets_N torch.Tensor, ignore int64, scale float64) {
	if scale == 0 {
		return
	}
	counts := make([]float64, a.now_V.Size(0))
	for _, y := range targets_N.To(torch.Int64, torch.CPU).Int64s() {
		if y != ignore {
			counts[y]++
		}
	}
	torch.ScopedNoGrad(func() {
		d := a.now_V.Device()
		a.now_V.Assign(a.now_V.Add(torch.FromFloat64s(counts, torch.CPU, int64(len(counts))).To(torch.Float64, d)))
	})
}

// endUpdate takes the counts of an update to those of earlier ones.
func (a *AGG) endUpdate() {
	torch.ScopedNoGrad(func() {
		a.counts_V.Assign(a.counts_V.Add(a.now_V))
		a.updates.Assign(a.updates.AddScalar(1))
		a.now_V.Assign(a.now_V.MulScalar(0))
	})
}

// Apply sets the gates.
func (a *AGG) Apply(o *torch.SoftmaxLossOptions) { o.WeightGate = a.gates }

// WholeVocabulary is true: gates belong to words.
func (a *AGG) WholeVocabulary() bool { return true }

// gates gives those of targets [N], [N,V].
func (a *AGG) gates(targets_N torch.Tensor) (gate_NV torch.Tensor) {
	v := a.counts_V.Size(0)
	common_V := a.counts_V.Less(a.updates.MulScalar(a.Alpha)).Not().Or(a.specials_V)
	rate_V := a.counts_V.Div(a.updates.ClampMin(1))
	rare_V := common_V.Not().To(torch.Float64, a.counts_V.Device())
	mean := a.counts_V.Mul(rare_V).Sum().Div(rare_V.Sum().ClampMin(1)).AddScalar(1e-7)
	gates_2V := torch.Stack([]torch.Tensor{rate_V, a.counts_V.Div(mean).ClampMax(1)}, 0).MaskedFill(common_V, 1)
	which_N := rare_V.IndexSelect(0, targets_N).To(torch.Int64, targets_N.Device())
	own_NV := targets_N.Reshape(-1, 1).Equal(torch.Arange(v, targets_N.Device()))
	return gates_2V.To(a.dtype, targets_N.Device()).IndexSelect(0, which_N).MaskedFill(own_NV, 1)
}
