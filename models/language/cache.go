package language

import (
	"fmt"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Cache is the continuous cache pointer ("Improving neural language models with a continuous cache", Grave, Joulin and
// Usunier 2017): words that followed states like the present one, among the last Window positions, are more probable.
//
//	a_i      = softmax over i of Theta <h_i, h_t>
//	p(w)     = (1-Lambda) p_vocabulary(w) + Lambda sum of the a_i with y_i = w
//
// where h are the last layer's states as they are and y_i is the word that came after h_i. The cache is silent until
// Window positions have been seen, as in the program of AWD-LSTM, which begins one position later still.
type Cache struct {
	Theta, Lambda float64
	Window        int
}

// CacheScores are the probabilities of a text's words: what any Lambda mixes.
type CacheScores struct {
	LogVocabulary []float64   // log-probability of each word by the output layer
	Pointer       [][]float64 // [theta][position] probability by the cache; -1 where it is silent
}

// ScoreWithCache reads a text in one column and asks the cache about each of its words, for
// several values of Theta at once. It is an error that the text ends before the cache speaks.
func (m *Model) ScoreWithCache(ids []int32, thetas []float64, window int) (CacheScores, error) {
	var out CacheScores
	text, err := corpus.NewColumns(ids, 1, "the text", "-window")
	if err != nil {
		return out, err
	}
	if window > len(ids)-2 {
		return out, fmt.Errorf("a cache of %d positions says nothing of a text of %d tokens: lower -window", window,
			len(ids))
	}
	out.Pointer = make([][]float64, len(thetas))
	var history torch.Tensor // [at most window,D], kept
	defer func() {
		if history.Defined() {
			torch.Free(history)
		}
	}()
	var words []int32 // that came after its states
	m.Read(text, 0, func(states torch.States, targets torch.Tensor) {
		for _, x := range m.Output.NLL(states, targets).Float64s() {
			out.LogVocabulary = append(out.LogVocabulary, -x)
		}
		h := states.Raw
		n, before := int(h.Size(0)), len(words)
		all := h
		if history.Defined() {
			all = torch.Cat([]torch.Tensor{history, h}, 0)
		}
		for _, id := range targets.Int64s() {
			words = append(words, int32(id))
		}
		scores := h.MatMul(all.Transpose(0, 1)).Float32s() // [n, before+n]
		for t := range n {
			row := scores[t*(before+n):][:before+t]
			for k, theta := range thetas {
				p := -1.0
				if len(row) >= window {
					p = pointer(row[len(row)-window:], words[len(row)-window:], words[before+t], theta)
				}
				out.Pointer[k] = append(out.Pointer[k], p)
			}
		}
		rest := all.Narrow(0, int64(max(0, before+n-window)), int64(min(window, before+n))).Clone()
		torch.Keep(rest)
		if history.Defined() {
			torch.Free(history)
		}
		history = rest
		words = slices.Clone(words[max(0, before+n-window):])
	})
	return out, nil
}

// pointer is the cache's probability of a word: the share of the exponential of
// theta times the scores that falls to positions with that word behind them.
func pointer(scores []float32, words []int32, word int32, theta float64) float64 {
	largest := float64(slices.Max(scores)) // theta is at least 0
	sum, found := 0.0, 0.0
	for i, s := range scores {
		x := math.Exp(theta * (float64(s) - largest))
		sum += x
		if words[i] == word {
			found += x
		}
	}
	return found / sum
}

// NLL is the mean of -log p over a text's words with the theta of that index and a lambda, in nats; infinite where some
// word has no probability.
func (c CacheScores) NLL(theta int, lambda float64) float64 {
	sum := 0.0
	for t, logP := range c.LogVocabulary {
		if p := c.Pointer[theta][t]; p >= 0 && lambda > 0 {
			logP = math.Log((1-lambda)*math.Exp(logP) + lambda*p)
		}
		sum -= logP
	}
	return sum / float64(len(c.LogVocabulary))
}

// ZeroProbability is the error that a cache with that lambda has an infinite loss.
func ZeroProbability(lambda float64) error {
	return fmt.Errorf("a cache with lambda %g gives some word of the text the probability 0: set it lower", lambda)
}

// The values that a search tries. Those of the published models are 1 and .1 for Penn Treebank, .66 and .13 for
// WikiText-2; states of smaller models want larger thetas.
var searchThetas = []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.66, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.5, 3, 4}

// SearchCache finds the theta and the lambda of the least loss on a text. Values
// that are fixed are not searched for: a theta or lambda of -1 is open. It is an error that none has a finite loss.
func (m *Model) SearchCache(ids []int32, fixed Cache) (Cache, float64, error) {
	thetas := searchThetas
	if fixed.Theta >= 0 {
		thetas = []float64{fixed.Theta}
	}
	scores, err := m.ScoreWithCache(ids, thetas, fixed.Window)
	if err != nil {
		return fixed, 0, err
	}
	best, least := fixed, math.Inf(1)
	for k, theta := range thetas {
		for step := range 61 {
			lambda := float64(step) / 100
			if fixed.Lambda >= 0 {
				lambda = fixed.Lambda
			}
			if nll := scores.NLL(k, lambda); nll < least {
				least, best.Theta, best.Lambda = nll, theta, lambda
			}
			if fixed.Lambda >= 0 {
				break
			}
		}
	}
	if math.IsInf(least, 1) {
		return fixed, 0, ZeroProbability(fixed.Lambda)
	}
	return best, least, nil
}
