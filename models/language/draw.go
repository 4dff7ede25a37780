package language

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// SampleOptions say how a text is continued: by draws from what the options leave of the model's probabilities, in the
// order of the fields, which is that of transformers' generate; or by contrastive search.
type SampleOptions struct {
	Words int // to add, ends of lines among them; 0 is 100

	// Repetition multiplies the log-probability of each word that stands in the text so far, and makes it less probable
	// above 1 (Keskar et al. 2019, on scores, whose zero is arbitrary); 0 and 1: none.
	Repetition  float64
	Temperature float64 // log-probabilities are divided by it; 0 takes the most probable word
	TopK        int     // only this number of the most probable words; 0: all
	TopP        float64 // only the most probable words that reach this probability together; 0 or 1: all
	MinP        float64 // only words with at least this share of the best word's probability; 0: all (Nguyen et al. 2024)
	// Typical leaves the words whose information is nearest to the entropy of what is left, until they reach this
	// probability together; 0 or 1: all (Meister et al. 2023).
	Typical float64

	// Contrastive search (Su et al. 2022) draws nothing: of the TopK most probable words v, 0 is 5, it takes the one
	// with the most
	//
	//	(1 - Contrastive) p(v) - Contrastive max_j cos(h_v, h_j)
	//
	// where h_v is the hidden state behind v and h_j are those of the text before it. 0: no contrastive search; the
	// authors recommend 0.6.
	Contrastive float64

	Seed   uint64 // of the draws
	Stream uint64 // which of the seed's streams of draws
}

// check says which option makes no sense.
func (o SampleOptions) check() error {
	for _, x := range []struct {
		name        string
		value, most float64
	}{
		{"repetition", o.Repetition, math.MaxFloat64}, {"temperature", o.Temperature, math.MaxFloat64},
		{"top k", float64(o.TopK), math.MaxFloat64}, {"top p", o.TopP, 1}, {"min p", o.MinP, 1},
		{"typical", o.Typical, 1}, {"contrastive", o.Contrastive, 1}, {"words", float64(o.Words), math.MaxFloat64},
	} {
		if !(x.value >= 0 && x.value <= x.most) {
			limit := "at least 0"
			if x.most == 1 {
				limit += " and at most 1"
			}
			return fmt.Errorf("%s %v makes no sense: it is %s", x.name, x.value, limit)
		}
	}
	return nil
}

// penalise makes the words of a text less probable. Log-probabilities then no longer are those of a distribution.
func (o SampleOptions) penalise(logProbs []float32, text []int32) {
	if o.Repetition == 0 || o.Repetition == 1 {
		return
	}
	penalised := map[int32]bool{}
	for _, id := range text {
		if !penalised[id] {
			logProbs[id] *= float32(o.Repetition)
		}
		penalised[id] = true
	}
}

// best are the ids of the n largest log-probabilities, falling; of equal ones the smaller id comes first.
func best(logProbs []float32, n int) []int32 {
	before := func(a, b int32) int { return cmp.Or(cmp.Compare(logProbs[b], logProbs[a]), cmp.Compare(a, b)) }
	if n >= len(logProbs) {
		order := make([]int32, len(logProbs))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, before)
		return order
	}
	var top []int32
	for id := range int32(len(logProbs)) {
		if len(top) == n {
			if n == 0 || before(id, top[n-1]) > 0 {
				continue
			}
			top = top[:n-1]
		}
		at, _ := slices.BinarySearchFunc(top, id, before)
		top = slices.Insert(top, at, id)
	}
	return top
}

// draw chooses a word by log-probabilities that are penalised already.
func (o SampleOptions) draw(logProbs []float32, random *rand.Rand) int32 {
	words, weights := o.left(logProbs)
	at := random.Float64() * floats.Sum(weights)
	for i, w := range weights {
		if at -= w; at < 0 {
			return words[i]
		}
	}
	return words[len(words)-1]
}

// left are the words that the options leave, the most probable first, and weights that are proportional to their
// probabilities.
func (o SampleOptions) left(logProbs []float32) (words []int32, weights []float64) {
	if o.Temperature == 0 {
		return best(logProbs, 1), []float64{1}
	}
	n := len(logProbs)
	if o.TopK > 0 {
		n = o.TopK
	}
	words = best(logProbs, n)
	weights = make([]float64, len(words))
	for i, id := range words {
		weights[i] = math.Exp((float64(logProbs[id]) - float64(logProbs[words[0]])) / o.Temperature)
	}
	keep := func(n int) { words, weights = words[:n], weights[:n] }
	if o.TopP > 0 && o.TopP < 1 {
		keep(reach(weights, o.TopP))
	}
	if o.MinP > 0 {
		if i := slices.IndexFunc(weights, func(w float64) bool { return w < o.MinP*weights[0] }); i >= 0 {
			keep(i)
		}
	}
	if o.Typical > 0 && o.Typical < 1 {
		return typical(words, weights, o.Typical)
	}
	return words, weights
}

// reach is how many of the first weights reach a share of them all.
func reach(weights []float64, share float64) int {
	total, reached := floats.Sum(weights), 0.0
	for i, w := range weights {
		if reached += w; reached >= share*total {
			return i + 1
		}
	}
	return len(weights)
}

// typical leaves the words whose -log p is nearest to its mean, the entropy, until they reach a share of the
// probability, and words that are as near as the last one.
func typical(words []int32, weights []float64, share float64) ([]int32, []float64) {
	total := floats.Sum(weights)
	information, entropy := make([]float64, len(weights)), 0.0
	for i, w := range weights {
		if p := w / total; p > 0 {
			information[i] = -math.Log(p)
			entropy += p * information[i]
		} else {
			information[i] = math.Inf(1)
		}
	}
	distance := func(i int) float64 { return math.Abs(information[i] - entropy) }
	order := make([]int, len(weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
	nearest := make([]float64, len(order))
	for k, i := range order {
		nearest[k] = weights[i]
	}
	farthest := distance(order[reach(nearest, share)-1])
	var kept []int32
	var left []float64
	for i, id := range words {
		if distance(i) <= farthest {
			kept, left = append(kept, id), append(left, weights[i])
		}
	}
	return kept, left
}
