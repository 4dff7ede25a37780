package language

import "math/rand/v2"

// What tests see of the parts of a model.

// Pointer is the cache's probability of a word.
var Pointer = pointer

// Draw chooses a word by its log-probabilities.
func (s SampleOptions) Draw(logProbs []float32, random *rand.Rand) int32 {
	return s.draw(logProbs, random)
}

// Model is the copy whose weights follow a text.
func (f *DynamicModel) Model() *Model { return f.model }
