package decode

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// EndID ends a sentence, and starts the decoder's input.
const EndID = 2

// Options are the settings of a search. Lengths of translations count their end
// of sentence where a score is divided, and do not count it in MinLength and
// in the largest length.
type Options struct {
	Beam          int     // hypotheses that are followed
	LengthPenalty string  // "fairseq": score / length^Lenpen; "gnmt": score / ((5+length)/6)^Lenpen, with its stop rule
	Lenpen        float64 // 0 for none
	// The largest length is floor(MaxLengthA n + MaxLengthB), where n is the
	// source's length with its end of sentence, or what the model's positions allow.
	MaxLengthA     float64
	MaxLengthB     int
	MinLength      int  // words that come before an end of sentence may
	NoRepeatNgram  int  // n-grams of this size come once; 0 allows all
	NBest          int  // translations of a sentence, at most Beam
	Alignment      bool // say which source word each word attended to most
	BatchSentences int  // sentences of a batch
	BatchTokens    int  // source tokens of a batch, padding and ends included
}

// Defaults are fairseq's settings with a beam of 5, and batches that suit a CPU.
func Defaults() Options {
	return Options{
		Beam: 5, LengthPenalty: "fairseq", Lenpen: 1, MaxLengthB: 200, MinLength: 1, NBest: 1,
		BatchSentences: 128, BatchTokens: 4096,
	}
}

func (o Options) check() error {
	switch {
	case o.Beam < 1:
		return fmt.Errorf("a beam of %d finds nothing: use 1 for greedy search, or more", o.Beam)
	case o.NBest < 1 || o.NBest > o.Beam:
		return fmt.Errorf("a beam of %d gives 1 to %d translations, not %d: raise the beam", o.Beam, o.Beam, o.NBest)
	case o.LengthPenalty != "fairseq" && o.LengthPenalty != "gnmt":
		return fmt.Errorf("unknown length penalty %q: use fairseq or gnmt", o.LengthPenalty)
	case math.IsNaN(o.Lenpen) || math.IsInf(o.Lenpen, 0):
		return fmt.Errorf("the length penalty's exponent must be a finite number, not %v", o.Lenpen)
	case !(o.MaxLengthA >= 0) || math.IsInf(o.MaxLengthA, 0) || o.MaxLengthB < 0:
		return fmt.Errorf("the largest length %v n + %d must not be negative", o.MaxLengthA, o.MaxLengthB)
	case o.MinLength < 0 || o.NoRepeatNgram < 0:
		return fmt.Errorf("the smallest length %d and the size of n-grams %d must not be negative", o.MinLength, o.NoRepeatNgram)
	case o.BatchSentences < 1 || o.BatchTokens < 1:
		return fmt.Errorf("batches of %d sentences and %d tokens hold nothing: use at least 1", o.BatchSentences, o.BatchTokens)
	}
	return nil
}

// penalty is what the log-probability of a sentence of that length, its end
// included, is divided by.
func (o Options) penalty(length int) float64 {
	if o.LengthPenalty == "gnmt" {
		return math.Pow((5+float64(length))/6, o.Lenpen)
	}
	return math.Pow(float64(length), o.Lenpen)
}

// longest is the largest length of a translation of n words, for a model with
// that many positions.
func (o Options) longest(n, positions int) int {
	limit := math.Floor(o.MaxLengthA*float64(n+1) + float64(o.MaxLengthB))
	return int(min(limit, float64(positions-1)))
}

// Model is a network that translates.
type Model interface {
	Decoder() models.Decoder
}

// Scorer gives log-probabilities [R,V] of what follows hidden states [R,D].
type Scorer interface {
	LogProbs(hidden torch.Tensor) torch.Tensor
}

// Nearest is a Scorer that finds the best words without scores of all: for hidden states [R,D]
// the k best of each and their LogProbs, best first, both [R,k]. Padding is never among them.
type Nearest interface {
	Scorer
	Nearest(hidden torch.Tensor, k int) (scores, ids torch.Tensor)
}

// Softmax is the scorer log softmax(Map(h) Weight^T + Bias).
type Softmax struct {
	Weight torch.Tensor                      // [V,K]
	Bias   torch.Tensor                      // [V], or the zero Tensor
	Map    func(h torch.Tensor) torch.Tensor // [R,D] to [R,K]; nil leaves h as it is
}

func (s Softmax) mapped(hidden torch.Tensor) torch.Tensor {
	if s.Map == nil {
		return hidden
	}
	return s.Map(hidden)
}

// LogProbs are log-probabilities over the vocabulary.
func (s Softmax) LogProbs(hidden torch.Tensor) torch.Tensor {
	return torch.Linear(s.mapped(hidden), s.Weight, s.Bias).LogSoftmax(1)
}

// NLL is the negative log-likelihood of targets [N] after hidden states [N,D], in nats.
func (s Softmax) NLL(hidden, targets torch.Tensor) torch.Tensor {
	_, nll := torch.SoftmaxLoss(s.mapped(hidden), s.Weight, s.Bias, targets, torch.SoftmaxLossOptions{Ignore: models.PadID, Scale: 1, Evaluate: true})
	return nll
}

// Hypothesis is a translation.
type Hypothesis struct {
	IDs           []int32   // without end of sentence
	Score         float64   // LogProb under the length penalty
	LogProb       float64   // natural logarithm, the end of sentence included
	TokenLogProbs []float64 // of each word and of the end of sentence; LogProb is their sum
	// Alignment is, where asked for, the source word that each word attended to
	// most, averaged over heads of the last layer; -1 where the source has none.
	Alignment []int
}
