package score

import "math"

// Perplexity is exp(nllSum/tokens), where nllSum is the negative log-likelihood
// in nats added up over the tokens that were predicted, ends of sentences
// included. Without tokens it is undefined: NaN.
func Perplexity(nllSum float64, tokens int) float64 {
	if tokens <= 0 {
		return math.NaN()
	}
	return math.Exp(nllSum / float64(tokens))
}
