package objectives

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/torch"
)

// adaptive is the adaptive softmax: a likelihood.
var adaptive = Method{
	Name:    "adaptive",
	Summary: "a softmax over frequent words and clusters, and one within the target's cluster",
	Paper:   "Grave et al. 2017",
	Formula: "-log softmax(W h over frequent words and clusters)[y or its cluster] - log softmax(W h over the " +
		"cluster)[y]",
	Parameters: "C D + C", Cost: "a seventh of the output layer's products in place of all, in training",
	Settings: []any{SoftmaxSettings{}, AdaptiveSettings{}},
	Needs:    Needs{FrequentFirst: true},
	Build: func(s Settings, _ bool) Pieces {
		a := Of[AdaptiveSettings](s)
		return Pieces{Likelihood: &Adaptive{Cutoffs: a.AdaptiveCutoffs, Divisor: a.AdaptiveDivisor,
			Bias: Of[SoftmaxSettings](s).Bias}}
	},
}

// AdaptiveSettings are the keys of the adaptive softmax.
type AdaptiveSettings struct {
	AdaptiveCutoffs string  `toml:"adaptive_cutoffs" init:"keep" help:"adaptive: ranks where clusters of rarer words begin, separated by commas; none is one softmax, empty chooses three"`
	AdaptiveDivisor float64 `toml:"adaptive_divisor" init:"keep" default:"1.0" range:"[1,1000]" help:"adaptive: each cluster is narrower than the one before by this factor; 1 shares the output matrix"`
}

// Adaptive is the adaptive softmax (Grave et al. 2017, "Efficient softmax approximation for GPUs") with tied rows, as
// Transformer-XL has it: the vocabulary, sorted by falling frequency, is cut into a shortlist [0, c_1) and clusters
// [c_1, c_2), ..., [c_C, V). A head scores the shortlist and, by a row of its own each, the clusters; a word of a
// cluster is scored among its cluster only.
//
//	P(j) = head(j)                      for j of the shortlist
//	P(j) = head(cluster of j) tail(j)   for the others
//
// Both are softmaxes of h w_j + b_j over their rows of W, so with no cluster this is the softmax over the vocabulary,
// and probabilities sum to one always. With a divisor, cluster c scores with rows of its own, D / divisor^c wide, after
// a projection of h to that width, and W's rows serve the head only.
//
// Ids must fall in frequency; nothing else is assumed of them, and any order gives a likelihood, at another cost. For N
// targets with a share f_c in cluster c, training costs 3 N D (c_1 + C + sum f_c size_c) multiplications. Every tail's
// gradient is V D numbers together, as a softmax has it.
//
// Label smoothing, which Transformer-XL does without, is applied within each softmax that is evaluated: mass on all
// words would need every tail for every target. A perturbation lowers the target's score in the softmax that its word
// is in and leaves the clusters' rows alone.
//
// Departures from Transformer-XL: clusters stand in the head in their own order (theirs is reversed), words have a bias
// only where Bias asks for it, and tails narrowed by a divisor are not tied to the input.
//
// Legend: N rows, D width, V vocabulary, K columns that the embedding scores with, C clusters.
type Adaptive struct {
	Cutoffs string  // c_1 to c_C, rising, separated by commas; "none"; or empty, to have them chosen
	Divisor float64 // 1: all clusters share W's rows
	Bias    bool    // a trained bias [V] of words that starts at zero

	softmaxTraining
	embedding              Embedding
	head                   Head
	clusters, clustersBias torch.Tensor // [C,K], [C]
	bias                   torch.Tensor // or the zero Tensor
	tails                  []tail
	sizes                  []int64        // of the shortlist and the clusters: they add up to V
	words                  []torch.Tensor // [V] int64 for each layer: where it counts a word; kept
}

// tail is a cluster, words [low, high), and what it scores with where it does not share W's rows.
type tail struct {
	low, high        int64
	projection, rows torch.Tensor // [D/divisor^c, D], [high-low, D/divisor^c], or zero Tensors
}

// clustersDeviation is that of the clusters' rows at the start, as in Transformer-XL.
const clustersDeviation = 0.02

// Init makes <prefix>.clusters.weight [C,K] and .clusters.bias [C], with a divisor
// also .tails.0.projection and .tails.0.weight and so on, and .bias [V].
func (l *Adaptive) Init(e Embedding, p Config) error {
	if err := p.sameWidth(false); err != nil {
		return err
	}
	scope := torch.OpenScope()
	defer scope.Close()
	l.embedding, l.head = e, e.Head()
	normal := func(name string, deviation float64, shape ...int64) torch.Tensor {
		return p.Params.Add(p.Output+name, p.draws().Normal(0, deviation, torch.Float64, torch.CPU,
			shape...).To(p.dtype(), p.Device))
	}
	zeros := func(name string, size int64) torch.Tensor {
		return p.Params.Add(p.Output+name, torch.Zeros(p.dtype(), p.Device, size))
	}
	ranks, err := cutoffs(l.Cutoffs, p.Vocabulary)
	if err != nil {
		return err
	}
	for i, low := range ranks {
		t := tail{low: low, high: p.Vocabulary}
		if i+1 < len(ranks) {
			t.high = ranks[i+1]
		}
		if low >= t.high {
			return fmt.Errorf("objective.adaptive_cutoffs is %q: the last must be below the vocabulary's size, %d",
				l.Cutoffs, p.Vocabulary)
		}
		if width := int64(float64(p.Width) / math.Pow(l.Divisor, float64(i+1))); l.Divisor > 1 {
			width = max(1, width)
			name := fmt.Sprintf(".tails.%d", i)
			t.projection = normal(name+".projection", math.Pow(float64(p.Width), -0.5), width, p.Width)
			t.rows = normal(name+".weight", math.Pow(float64(width), -0.5), t.high-t.low, width)
		}
		l.tails = append(l.tails, t)
	}
	l.sizes = []int64{p.Vocabulary}
	if clusters := int64(len(l.tails)); clusters > 0 {
		l.sizes[0] = l.tails[0].low
		for _, t := range l.tails {
			l.sizes = append(l.sizes, t.high-t.low)
		}
		l.clusters = normal(".clusters.weight", clustersDeviation, clusters, l.head.Weight.Size(1))
		p.scoredAsRows(p.Output + ".clusters.weight")
		l.clustersBias = zeros(".clusters.bias", clusters)
	}
	if l.Bias {
		l.bias = zeros(".bias", p.Vocabulary)
	}
	l.placeWords(p)
	return nil
}

// softmaxLayer is one softmax: weight [R,K], bias [R] or the zero Tensor, and the hidden states that it scores.
type softmaxLayer struct{ weight, bias, hidden torch.Tensor }

// refuses terms that need all words at once.
func (l *Adaptive) refuses(t LossTerm) (why string) {
	if t, is := t.(WholeTerm); is && t.WholeVocabulary() {
		return "needs all words in one softmax, and adaptive has a softmax for each cluster"
	}
	return ""
}

// layers are the head and the tails for hidden states [N,D].
func (l *Adaptive) layers(hidden torch.Tensor) []softmaxLayer {
	mapped := l.head.Map(hidden)
	weights := l.head.Weight.Split(0, l.sizes...)
	biases := make([]torch.Tensor, len(l.sizes))
	if l.Bias {
		biases = l.bias.Split(0, l.sizes...)
	}
	all := []softmaxLayer{{weights[0], biases[0], mapped}}
	if len(l.tails) == 0 {
		return all
	}
	all[0].weight = torch.Cat([]torch.Tensor{weights[0], l.clusters}, 0)
	own := biases[0]
	if !l.Bias {
		own = torch.Zeros(l.clustersBias.DType(), l.clustersBias.Device(), l.sizes[0])
	}
	all[0].bias = torch.Cat([]torch.Tensor{own, l.clustersBias}, 0)
	for i, t := range l.tails {
		x := softmaxLayer{weights[i+1], biases[i+1], mapped}
		if t.rows.Defined() {
			x.weight, x.hidden = t.rows, torch.Linear(hidden, t.projection, torch.Tensor{})
		}
		all = append(all, x)
	}
	return all
}

// none is the place of a word in a softmax that does not count it.
const none = -1

// placeWords makes, for each layer, the table [V] of where it counts a word: its
// own rows from 0, the head also the clusters behind the shortlist, else none.
func (l *Adaptive) placeWords(p Config) {
	head := make([]int64, p.Vocabulary)
	for j := range head {
		head[j] = int64(j)
	}
	tables := [][]int64{head}
	for i, t := range l.tails {
		own := make([]int64, p.Vocabulary)
		for j := range own {
			own[j] = none
		}
		for j := t.low; j < t.high; j++ {
			head[j], own[j] = l.sizes[0]+int64(i), j-t.low
		}
		tables = append(tables, own)
	}
	for _, table := range tables {
		if p.Padding >= 0 {
			table[p.Padding] = none
		}
		x := torch.FromInt64s(table, torch.CPU, p.Vocabulary)
		p.keep(x)
		l.words = append(l.words, x)
	}
}

// places are the targets [N] as each layer counts them, on the host; the first is the head's.
func (l *Adaptive) places(targets torch.Tensor) (own []torch.Tensor) {
	targets = targets.To(torch.Int64, torch.CPU)
	for _, table := range l.words {
		own = append(own, table.IndexSelect(0, targets))
	}
	return own
}

// outside says on a device which targets [N] a layer does not count.
func outside(own torch.Tensor, d torch.Device) torch.Tensor {
	return own.EqualScalar(none).To(torch.Bool, d)
}

// Loss is the cross-entropy of the head and of the targets' tails, smoothed and
// perturbed where asked for, summed and scaled, and the clean one by row.
func (l *Adaptive) Loss(s torch.States, targets torch.Tensor, scale float64) (loss, nll torch.Tensor) {
	own := l.places(targets)
	o := l.options(none, scale)
	if l.by == nil {
		return l.sum(s.Hidden, own, o)
	}
	shift := l.by.Shift(s.Hidden, func() torch.Tensor { return l.rows(targets, own) })
	ofHead := shift
	for _, ofTail := range own[1:] {
		ofHead = ofHead.MaskedFill(outside(ofTail, shift.Device()).Not(), 0)
	}
	var shifted torch.Tensor
	for i, x := range l.layers(s.Hidden) {
		if i == 0 {
			loss, nll, shifted = torch.ShiftedSoftmaxLoss(x.hidden, x.weight, x.bias, own[i], ofHead, o)
		} else {
			a, b, c := torch.ShiftedSoftmaxLoss(x.hidden, x.weight, x.bias, own[i], shift, o)
			loss, nll, shifted = loss.Add(a), nll.Add(b), shifted.Add(c)
		}
	}
	l.record(shifted, nll, scale)
	return loss, nll
}

// sum adds up the losses of all layers, without a perturbation.
func (l *Adaptive) sum(hidden torch.Tensor, own []torch.Tensor, o torch.SoftmaxLossOptions) (loss, nll torch.Tensor) {
	for i, x := range l.layers(hidden) {
		a, b := torch.SoftmaxLoss(x.hidden, x.weight, x.bias, own[i], o)
		if i == 0 {
			loss, nll = a, b
		} else {
			loss, nll = loss.Add(a), nll.Add(b)
		}
	}
	return loss, nll
}

// rows are the vectors [N,D] that the targets' scores are products with.
func (l *Adaptive) rows(targets torch.Tensor, own []torch.Tensor) torch.Tensor {
	d := l.head.Weight.Device()
	rows := l.embedding.Lookup(targets.To(torch.Int64, d))
	for i, t := range l.tails {
		if !t.rows.Defined() {
			continue
		}
		other := outside(own[i+1], d)
		word := torch.Embedding(t.rows, own[i+1].To(torch.Int64, d).MaskedFill(other, 0), -1).MatMul(t.projection)
		other = other.Reshape(-1, 1)
		rows = rows.MaskedFill(other.Not(), 0).Add(word.MaskedFill(other, 0))
	}
	return rows
}

// NLL is the clean negative log-likelihood by row.
func (l *Adaptive) NLL(s torch.States, targets torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		_, nll := l.sum(s.Hidden, l.places(targets), l.clean(none))
		return nll
	})
}

// LogProbs are log-probabilities over the vocabulary. They cost what those of a softmax cost: every tail is needed.
func (l *Adaptive) LogProbs(hidden torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		var parts []torch.Tensor
		var head torch.Tensor
		for i, x := range l.layers(hidden) {
			part := l.transformed(torch.Linear(x.hidden, x.weight, x.bias)).LogSoftmax(-1)
			if i == 0 {
				head, part = part, part.Narrow(-1, 0, l.sizes[0])
			} else {
				part = part.Add(head.Narrow(-1, l.sizes[0]+int64(i)-1, 1))
			}
			parts = append(parts, part)
		}
		return torch.Cat(parts, -1)
	})
}

// Operations are those of the head for all targets, and of each tail for those of its cluster.
func (l *Adaptive) Operations(w Work) torch.Operations {
	n := int64(len(w.Targets))
	all := w.Embedding(Work{Scored: n})
	all = all.Plus(torch.ProductOperations(n, l.head.Weight.Size(1), l.sizes[0]+int64(len(l.tails))).AtOnce())
	for i, t := range l.tails {
		own := int64(0)
		for _, id := range w.Targets {
			if id >= t.low && id < t.high {
				own++
			}
		}
		width := l.head.Weight.Size(1)
		if t.rows.Defined() {
			width = t.rows.Size(1)
			all = all.Plus(torch.ProductOperations(n, t.projection.Size(1), width))
		}
		all = all.Plus(torch.ProductOperations(own, width, l.sizes[i+1]).AtOnce())
	}
	return all
}

// cutoffs reads the key of that name for a vocabulary of v: ranks separated by commas, "none" for a full softmax, or
// nothing for three clusters behind v/20, v/5 and v/2. By Zipf's law they make the expected number of scores about a
// seventh of 10,000 and a ninth of 270,000; Transformer-XL's 20,000, 40,000 and 200,000 make it a sixth of the latter.
func cutoffs(key string, v int64) (ranks []int64, err error) {
	switch key {
	case "none":
		return nil, nil
	case "":
		for _, rank := range []int64{v / 20, v / 5, v / 2} {
			if rank > 0 && !slices.Contains(ranks, rank) {
				ranks = append(ranks, rank)
			}
		}
		return ranks, nil
	}
	last := int64(0)
	for _, word := range strings.Split(key, ",") {
		rank, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		if err != nil || rank <= last {
			return nil, fmt.Errorf("objective.adaptive_cutoffs is %q: give rising ranks above 0, separated by commas, "+
				"as in 20000,40000,200000; none for one softmax; or nothing to have them chosen", key)
		}
		ranks, last = append(ranks, rank), rank
	}
	return ranks, nil
}
