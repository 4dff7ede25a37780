package language

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// What tests see of the parts of a model.

// Pointer is the cache's probability of a word.
var Pointer = pointer

// Best is best.
var Best = best

// Draw chooses a word by its log-probabilities.
func (o SampleOptions) Draw(logProbs []float32, random *rand.Rand) int32 {
	return o.draw(logProbs, random)
}

// Left are the probabilities of all words that the options leave behind a text.
func (o SampleOptions) Left(logProbs []float32, text []int32) []float64 {
	o.penalise(logProbs, text)
	words, weights := o.left(logProbs)
	left := make([]float64, len(logProbs))
	for i, id := range words {
		left[id] = weights[i] / floats.Sum(weights)
	}
	return left
}

// Model is the copy whose weights follow a text.
func (f *DynamicModel) Model() *Model { return f.model }
