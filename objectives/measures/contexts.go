package measures

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/aperture-ml/aperture/torch"
)

// Letters of shapes: N states, D columns, V words.

// Contexts are hidden states of a text, in evaluation, with what they predict.
type Contexts struct {
	Hidden  []float64 // [N*D]
	Width   int       // D
	Loss    []float64 // [N] clean, of the targets, in nats
	Targets []int64   // [N]

	gain, bias []float64 // [D] of the layer normalisation that the states leave; nil where they leave none
}

// NewContexts begins a list of states that leave a layer normalisation of that gain and bias [D], zero Tensors where
// they leave none.
func NewContexts(gain_D, bias_D torch.Tensor) *Contexts {
	c := &Contexts{}
	if gain_D.Defined() {
		c.gain, c.bias = toGo(gain_D), toGo(bias_D)
	}
	return c
}

// Add adds states [N,D] with the clean losses and ids [N] of their targets.
func (c *Contexts) Add(hidden_ND, loss_N, targets_N torch.Tensor) {
	c.Width = int(hidden_ND.Size(1))
	c.Hidden = append(c.Hidden, toGo(hidden_ND)...)
	c.Loss = append(c.Loss, toGo(loss_N)...)
	c.Targets = append(c.Targets, targets_N.Int64s()...)
}

func toGo(x torch.Tensor) []float64 {
	scope := torch.OpenScope()
	defer scope.Close()
	return x.Detach().To(torch.Float64, torch.CPU).Float64s()
}

// ContextMeasures say of hidden states what two theories of word vectors rest on. Lengths are over the root mean square
// of the states' lengths. What is not defined is NaN.
type ContextMeasures struct {
	States int
	Hull   Hull // of the states; see Hull for what it tells

	// What a layer normalisation leaves, h = g (x - mean x) / deviation + b, has sum_j (h_j - b_j) / g_j = 0: it lies
	// in a plane. Where BiasOverGain, sum_j b_j / g_j, is not 0, that plane misses the origin, and so does the hull of
	// any states that there can be (Gao et al. 2019, appendix C). PlaneDistance is the origin's from it, |sum_j b_j /
	// g_j| / |1/g|.
	BiasOverGain, PlaneDistance float64

	// Mean cosines of the rarest and of the most frequent fifth of the words' rows with a direction that is negative
	// for all states, -Hull.Nearest. Gao et al. reason (section 4.2) that rare words go nearly where words that never
	// occur go, along such directions. NaN where the origin is in the hull.
	RarePull, FrequentPull float64

	// A target that keeps a probability of a half with its score lowered by e |h| outweighs all other words together,
	// and so each of them: it is e-recognisable (D. Wang, Gong and Liu 2019, definition 3.2; see Margin). A half is
	// sufficient for that, not necessary. Recognised is the share of states whose target keeps it for e = RecognisedAt
	// |w_y|, and MedianMargin the median of the largest e / |w_y| for which it does, below 0 where it has less than a
	// half as it is. Of a softmax over words only.
	//
	// Their theorem 3.4 bounds that lowered probability by how far w_y is from the other words:
	// AdvSoft <= sigmoid(-log sum_{j != y} exp(-|h| (|w_y - w_j| - e))).
	Recognised, MedianMargin float64

	IsoScore     float64 // see Components.IsoScore
	IsoScoreStar float64 // see Components.ShrunkIsoScore, with Shrinkage

	Scores // of the number of states that RankStates says, at equal distances
}

// Shrinkage is the zeta of IsoScore* where it is shown, that of the authors' example.
const Shrinkage = 0.2

// RecognisedAt is the radius of the adversarial method as published, relative to the norm of the target's row; the same
// for all models, so that they compare.
const RecognisedAt = 0.005

// Measure measures the states of a model whose output matrix is w [V,D], whose words occur counts [V] times in
// training, NaN or 0 for rows of no word. softmax says that the losses are those of one softmax over the rows. logProbs
// gives log-probabilities [N,V] of states [N,D] in float32, or is nil where words have none.
func (c *Contexts) Measure(w torch.Tensor, counts []float64, softmax bool,
	logProbs func(hidden_ND torch.Tensor) (logP_NV torch.Tensor)) (m ContextMeasures) {
	nan := math.NaN()
	m = ContextMeasures{States: len(c.Targets), BiasOverGain: nan, PlaneDistance: nan, RarePull: nan, FrequentPull: nan,
		Recognised: nan, MedianMargin: nan, IsoScore: nan, IsoScoreStar: nan, Scores: Scores{LogitRange: nan}}
	if m.States == 0 {
		return m
	}
	lengths, points := make([]float64, m.States), make([]float64, len(c.Hidden))
	for i := range lengths {
		lengths[i] = floats.Norm(c.Hidden[i*c.Width:(i+1)*c.Width], 2)
	}
	unit := max(floats.Norm(lengths, 2)/math.Sqrt(float64(m.States)), math.SmallestNonzeroFloat64)
	floats.AddScaled(points, 1/unit, c.Hidden)
	m.Hull = NearestInHull(points, c.Width)
	if c.gain != nil {
		m.plane(c.gain, c.bias, unit)
	}
	scope := torch.OpenScope()
	defer scope.Close()
	hidden_ND := torch.FromFloat64s(c.Hidden, torch.CPU, int64(m.States), int64(c.Width))
	components := PrincipalComponents(hidden_ND)
	m.IsoScore, m.IsoScoreStar = components.IsoScore(), components.ShrunkIsoScore(Shrinkage)
	if logProbs != nil {
		some := atEqualDistances(hidden_ND, int64(RankStates(c.Width)))
		m.Scores = MeasureScores(logProbs(some.To(torch.Float32, torch.CPU)))
	}
	norms := RowNorms(w)
	if !m.Hull.Contains(1) && w.Size(1) == int64(c.Width) {
		torch.NoGrad(func() { m.pull(w, norms, counts) })
	}
	if softmax {
		m.recognise(c, lengths, norms)
	}
	return m
}

func (m *ContextMeasures) plane(gain, bias []float64, unit float64) {
	m.BiasOverGain = 0
	squares := 0.0
	for j, g := range gain {
		m.BiasOverGain += bias[j] / g
		squares += 1 / (g * g)
	}
	m.PlaneDistance = math.Abs(m.BiasOverGain) / math.Sqrt(squares) / unit
}

// pull takes the cosines of rows with the direction that is negative for all states.
func (m *ContextMeasures) pull(w torch.Tensor, norms, counts []float64) {
	direction := torch.FromFloat64s(m.Hull.Nearest, torch.CPU, w.Size(1), 1)
	var products []float64
	eachChunk(w, func(x_CD torch.Tensor) { products = append(products, x_CD.MatMul(direction).Float64s()...) })
	seen := slices.Clone(counts)
	for i, norm := range norms {
		if norm == 0 {
			seen[i] = 0
		}
	}
	rare, frequent := fifths(seen)
	if len(rare) == 0 {
		return
	}
	mean := func(rows []int64) (mean float64) {
		for _, i := range rows {
			mean -= products[i] / norms[i] / m.Hull.Distance / float64(len(rows))
		}
		return mean
	}
	m.RarePull, m.FrequentPull = mean(rare), mean(frequent)
}

// recognise uses that lowering one score by e takes its log odds down by e.
func (m *ContextMeasures) recognise(c *Contexts, lengths, norms []float64) {
	var margins []float64
	kept := 0
	for i, loss := range c.Loss {
		scale := lengths[i] * norms[c.Targets[i]]
		if !(scale > 0) {
			continue
		}
		margin := (-loss - math.Log(-math.Expm1(-loss))) / scale
		if margins = append(margins, margin); margin >= RecognisedAt {
			kept++
		}
	}
	if len(margins) == 0 {
		return
	}
	m.Recognised = float64(kept) / float64(len(margins))
	m.MedianMargin = Median(margins)
}
