package main

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// objectiveRows are output layers: losses alone, in the sizes of language models and of translators, and what methods
// cost a whole training step over maximum likelihood.
var objectiveRows = withMethods([]row{
	{"softmax_loss/V=33278", "s", softmaxLayer(1400, 400, 33278).race},
	{"softmax_loss/V=37000", "s", translatorLayer.race},
	{"softmax_loss/V=33278/bfloat16", "s", softmaxLayer(1400, 400, 33278).inBFloat16().race},
	{"softmax_loss/V=37000/bfloat16", "s", translatorLayer.inBFloat16().race},
	{"method/spectrum-all", "tokens_per_s", smallNetwork.method("spectrum", withNorms...)},
	{"method/cosreg/V=50000", "tokens_per_s", smallNetwork.withWords(50000).method("cosreg")},
	{"method/cosreg/V=267735", "tokens_per_s", smallNetwork.withWords(267735).method("cosreg")},
	{"method/spectrum/V=50000", "tokens_per_s", smallNetwork.withWords(50000).method("spectrum")},
	{"method/spectrum/V=267735", "tokens_per_s", smallNetwork.withWords(267735).method("spectrum")},
	{"method/mos", "s", mixtureRace},
	{"adaptive_loss/V=33278", "s", adaptiveLayer(1400, 400, 33278, 2800, 20000).race},
	{"adaptive_loss/V=267735", "s", adaptiveLayer(1400, 512, 267735, 20000, 40000, 200000).race},
	{"vmf_loss/V=50000", "s", vectorLayer(4096, 1024, 50000, 300).race},
	{"vmf_model/V=50000", "sentences_per_s", publishedAttentional.race(tiedVMF, sentencesOf)},
})

// translatorLayer is the output layer of the published base model.
var translatorLayer = softmaxLayer(4096, 512, 37000)

// withNorms adds the terms that power iteration serves.
var withNorms = []any{"lambda_u_spectral", 1.0, "lambda_v_spectral", 1.0}

// loss makes a loss and its gradients for the leaves our side of a race of one piece. last is the latest value.
func (r *race) loss(leaves []torch.Tensor, loss func() torch.Tensor) (last *float64) {
	last = new(float64)
	r.warm, r.measured = 2, true
	r.ours = r.here(func() { torch.ZeroGrad(leaves) }, func(int) error {
		step := torch.OpenScope()
		defer step.Close()
		x := loss()
		x.Backward()
		*last = x.Item()
		return nil
	})
	return last
}

// same checks after the warm-up that the losses of both sides differ by at most the limit for the peer's.
func (r *race) same(program string, ours *float64, p *peer, limit func(loss float64) float64) {
	r.check = func() error {
		if theirs := p.last.Loss; !(math.Abs(*ours-theirs) <= limit(theirs)) {
			return fmt.Errorf("%s: the peer's loss is %g and ours %g, more than %.2g apart: "+
				"the two did not do the same work",
				program, theirs, *ours, limit(theirs))
		}
		return nil
	}
}

// layer is an output layer by itself: positions (N) hidden states of a width (D) that are scored against a vocabulary
// (V).
type layer struct {
	positions, width, vocabulary int64
	settings                     objectives.Settings
	vectors                      int64          // components (M) of target vectors; 0 for none
	program                      string         // of the peer
	peer                         map[string]any // of its configuration, what is not size
	alike                        bool           // whether both sides minimise the same loss
	zipf                         bool           // words come as often as a text's, the most frequent first; else all alike
	half                         bool           // whether products are in bfloat16
}

// softmaxLayer is a softmax, whose peer is a linear layer with cross-entropy.
func softmaxLayer(positions, width, vocabulary int64) layer {
	l := layer{positions: positions, width: width, vocabulary: vocabulary, program: "softmax_loss.py", alike: true}
	l.settings = objectives.Defaults()
	l.settings.Set("label_smoothing", 0)
	return l
}

// mixtureLayer is a mixture of softmaxes, whose peer is the mixture as a formula says it: a weighted sum of softmaxes.
func mixtureLayer(positions, width, vocabulary int64, components int) layer {
	l := softmaxLayer(positions, width, vocabulary)
	l.settings.Set("method", "mos", "mixture_components", components, "mixture_dropout", 0)
	l.program, l.peer = "mixture_loss.py", map[string]any{"components": components}
	return l
}

// adaptiveLayer is an adaptive softmax whose clusters begin at these ranks, each a fourth as wide as the one before;
// its peer is PyTorch's own module.
func adaptiveLayer(positions, width, vocabulary int64, cutoffs ...int64) layer {
	l := softmaxLayer(positions, width, vocabulary)
	const divisor = 4
	l.settings.Set("method", "adaptive", "adaptive_divisor", divisor,
		"adaptive_cutoffs", strings.Trim(strings.ReplaceAll(fmt.Sprint(cutoffs), " ", ","), "[]"))
	l.program, l.peer, l.zipf = "adaptive_loss.py", map[string]any{"cutoffs": cutoffs, "divisor": divisor}, true
	return l
}

// vectorLayer is the von Mises-Fisher output layer as its defaults have it: hidden states are mapped to m numbers and
// aim at frozen vectors. Its peer is what it replaces, a linear layer over the same words with cross-entropy.
func vectorLayer(positions, width, vocabulary, m int64) layer {
	l := softmaxLayer(positions, width, vocabulary)
	l.settings.Method, l.vectors = "vmf", m
	l.peer, l.alike = map[string]any{"bias": true}, false
	return l
}

// inBFloat16 is the layer with products in bfloat16.
func (l layer) inBFloat16() layer {
	l.half = true
	return l
}

// race races the layer's loss and all its gradients.
func (l layer) race(b *bench, r *race) error {
	if l.half && !r.inBFloat16() {
		return nil
	}
	scope := torch.OpenScope()
	defer scope.Close()
	stream, params := torch.NewStream(1, "bench"), &torch.Params{}
	r.onClose(params.Free)
	config := objectives.Config{Vocabulary: l.vocabulary, Width: l.width, Padding: 1, OutputOnly: true,
		Params: params, Embedding: "words", Output: "output", Stream: stream, Device: r.device}
	if l.vectors > 0 {
		config.Vectors = stream.Normal(0, 1, torch.Float32, r.device, l.vocabulary, l.vectors)
	}
	output, err := objectives.New(l.settings, config)
	if err != nil {
		return err
	}
	r.onClose(output.Free)
	hidden := torch.Parameter(stream.Normal(0, 1, torch.Float32, r.device, l.positions, l.width))
	ids := spreadTargets(l.positions, l.vocabulary)
	if l.zipf {
		ids = zipfTargets(l.positions, l.vocabulary)
	}
	targets := torch.FromInt64s(ids, r.device, l.positions)
	torch.Keep(targets)
	r.onClose(func() { torch.Free(hidden, targets) })
	r.config = fmt.Sprintf("N=%d D=%d V=%d", l.positions, l.width, l.vocabulary)
	last := r.loss(append(params.Tensors(), hidden), func() (loss torch.Tensor) {
		torch.Autocast(l.half, r.device, func() {
			loss, _ = output.Loss(torch.States{Hidden: hidden}, targets, 1/float64(l.positions))
		})
		return loss
	})
	described := map[string]any{"rows": l.positions, "width": l.width, "vocab": l.vocabulary, "half": l.half}
	maps.Copy(described, l.peer)
	if l.zipf { // how much there is to do depends on them
		described["targets"] = ids
	}
	peer, err := b.startPeer(r, "PyTorch", l.program, described)
	if l.alike {
		// Weights, hidden states and targets of the two sides are other draws from one distribution, so their mean
		// losses differ as means over positions do, each of which varies by about 1 nat.
		r.same(l.program, last, peer, func(float64) float64 { return 6 * math.Sqrt(2/float64(l.positions)) })
	}
	return err
}

// spreadTargets are n words all over a vocabulary of v, behind its special symbols.
func spreadTargets(n, v int64) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = 4 + int64(i)*7919%(v-4)
	}
	return ids
}

// zipfTargets are n words of a vocabulary of v, behind its special symbols, as often as a text by Zipf's law has the
// word of each rank.
func zipfTargets(n, v int64) []int64 {
	ids, all, sum, i := make([]int64, n), 0.0, 0.0, int64(0)
	for rank := range v - 4 {
		all += 1 / float64(rank+1)
	}
	for rank := range v - 4 {
		sum += 1 / float64(rank+1)
		for ; i < n && (float64(i)+0.5)/float64(n) < sum/all; i++ {
			ids[i*7919%n] = 4 + rank
		}
	}
	return ids
}

// mixturePositions is what the method's authors score at once: 20 columns of 70 words.
const mixturePositions = 1400

// plainCopies is how many arrays [N,K,V] the plain formulation of a mixture holds at its peak, as measured: scores,
// their softmaxes and two gradients, not all at once.
const plainCopies = 3.5

// mixtureRace races a mixture of 15 softmaxes, if its peer has room: else the kernel would end some process.
func mixtureRace(b *bench, r *race) error {
	const width, vocabulary, components = 400, 33278, 15
	available, err := torch.AvailableMemory()
	if err != nil {
		return err
	}
	if needed := plainCopies * 4 * components * vocabulary * float64(b.Positions); needed > available {
		return fmt.Errorf("the peer of method/mos needs %.1f GB of memory and %.1f are available: "+
			"name fewer positions with -positions", needed/1e9, available/1e9)
	}
	return mixtureLayer(b.Positions, width, vocabulary, components).race(b, r)
}

// attentionalLoop is the loop over time of an attentional decoder by itself: the mean square of its states and every
// gradient.
//
// Legend: B sentences, S and T words of each source and target, E width of word vectors, D width of states.
type attentionalLoop struct {
	rows, positions, steps int64 // B, S, T
	words, width           int64 // E, D
	layers                 int
}

// publishedLoop has the sizes of the translator that vMF was published on.
var publishedLoop = attentionalLoop{rows: 64, positions: 32, steps: 32, words: 512, width: 1024, layers: 2}

// race races the loop against the same in plain PyTorch, from equal operands.
func (l attentionalLoop) race(b *bench, r *race) error {
	const program = "attentional_loop.py"
	scope := torch.OpenScope()
	defer scope.Close()
	stream, params := torch.NewStream(1, "bench"), &torch.Params{}
	r.onClose(params.Free)
	add := func(name string, shape ...int64) torch.Tensor {
		return params.Add(name, stream.Uniform(-0.1, 0.1, torch.Float32, r.device, shape...))
	}
	words, memory := add("words", l.steps, l.rows, l.words), add("memory", l.rows, l.positions, l.width)
	h, c := add("h", int64(l.layers), l.rows, l.width), add("c", int64(l.layers), l.rows, l.width)
	d := torch.AttentionalDecoder{Query: add("query.weight", l.width, l.width),
		Mix: add("mix.weight", l.width, 2*l.width)}
	in := l.words + l.width
	for i := range l.layers {
		prefix := fmt.Sprintf("decoder.%d.", i)
		d.Layers = append(d.Layers, torch.LSTMWeights{
			Input: add(prefix+"weight_ih", 4*l.width, in), Hidden: add(prefix+"weight_hh", 4*l.width, l.width),
			InputBias: add(prefix+"bias_ih", 4*l.width), HiddenBias: add(prefix+"bias_hh", 4*l.width),
		})
		in = l.width
	}
	r.config = fmt.Sprintf("B=%d S=%d T=%d E=%d D=%d L=%d", l.rows, l.positions, l.steps, l.words, l.width, l.layers)
	last := r.loss(params.Tensors(), func() torch.Tensor {
		var states, cells []torch.Tensor
		for i := range int64(l.layers) {
			states = append(states, h.Narrow(0, i, 1).Reshape(l.rows, l.width))
			cells = append(cells, c.Narrow(0, i, 1).Reshape(l.rows, l.width))
		}
		return d.Run(words, memory, nil, states, cells).Square().Mean()
	})
	operands, err := b.writeTensors("attentional-loop", params)
	if err != nil {
		return err
	}
	peer, err := b.startPeer(r, "PyTorch", program, map[string]any{"layers": l.layers, "operands": operands})
	r.same(program, last, peer, func(loss float64) float64 { return 1e-4 * loss })
	return err
}
