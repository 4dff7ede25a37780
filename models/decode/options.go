package decode

import (
	"cmp"
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// Options are the settings of a search: the keys of the section decode, and what only a caller sets. Lengths of
// translations count their end of sentence where a score is divided, and do not count it in MinLength and in the
// largest length.
type Options struct {
	Beam           int     `toml:"beam" default:"5" range:"[1,1000]" help:"beam width for the test texts; 1 is greedy"`
	LengthPenalty  string  `toml:"length_penalty" default:"fairseq" choice:"fairseq gnmt" help:"divide scores by length^lenpen, or by ((5+length)/6)^lenpen"`
	Lenpen         float64 `toml:"lenpen" default:"1.0" range:"[-10,10]" help:"exponent of the length penalty; 0 is none"`
	MaxLengthA     float64 `toml:"max_length_a" default:"0.0" range:"[0,1000]" help:"longest output is max_length_a times the input's length plus max_length_b, in symbols"`
	MaxLengthB     int     `toml:"max_length_b" default:"200" range:"[0,1000000]" help:"see max_length_a"`
	MinLength      int     `toml:"min_length" default:"1" range:"[0,1000000]" help:"shortest output, in symbols without the end of sentence"`
	Stop           string  `toml:"stop" default:"fairseq" choice:"fairseq transformers" help:"when a search ends: once there is a finished translation for each place of the beam, or, as generate() of transformers does, when the best open one has a lower score than all of these; there the end of the longest output costs nothing"`
	NoRepeatNgram  int     `toml:"no_repeat_ngram" default:"0" range:"[0,1000]" help:"n-grams of this size occur once in an output; 0 allows all"`
	NoUnk          bool    `toml:"no_unk" default:"false" help:"never write the unknown word, as Marian does"`
	BatchSentences int     `toml:"batch_sentences" default:"64" range:"[1,100000]" help:"sentences decoded at a time"`
	// Alignment asks which source words each word attended to most, by which a translator replaces unknown words.
	Alignment bool `toml:"replace_unk" default:"false" help:"put the source word with most attention in place of the unknown word, or its translation where data.lexicon is on"`
	// Postprocess is the translator's as well, and wants the alignment too.
	Postprocess string `toml:"postprocess" default:"none" choice:"none paper" help:"changes to the output: paper makes those of the vMF authors' program, which merges repeated words and rewrites numbers and percent signs"`

	NBest       int // translations of a sentence, at most Beam; 0 is 1
	BatchTokens int // source tokens of a batch, padding and ends included; 0 is 4096
	// Int8 computes with weights of eight bits, where the model can ([Int8Model]).
	Int8 bool
	// Words asks a translator for the words of a translation with their probabilities, Links for the words of the source
	// that each stands for, too.
	Words, Links bool
	// Shortlist bounds the words of a translation; nil allows the whole vocabulary.
	Shortlist *Shortlist
}

var schema = keys.New[Options]("decode")

// Defaults are fairseq's settings with a beam of 5.
func Defaults() Options { return schema.Defaults() }

// Check says what makes no sense.
func (o Options) Check() error { return o.complete() }

// complete fills in what may be left at 0, and says what makes no sense.
func (o *Options) complete() error {
	if o.NBest == 0 {
		o.NBest = 1
	}
	if o.BatchTokens == 0 {
		o.BatchTokens = 4096
	}
	o.Postprocess, o.Stop = cmp.Or(o.Postprocess, "none"), cmp.Or(o.Stop, "fairseq")
	if err := schema.Check(o); err != nil {
		return err
	}
	switch {
	case o.NBest < 1 || o.NBest > o.Beam:
		return fmt.Errorf("a beam of %d gives 1 to %d translations, not %d: raise the beam", o.Beam, o.Beam, o.NBest)
	case o.BatchTokens < 1:
		return fmt.Errorf("batches of %d tokens hold nothing: use at least 1", o.BatchTokens)
	}
	return nil
}

// aligned reports whether a translator wants to know what words attended to.
func (o Options) aligned() bool { return o.Alignment || o.Rewriting() != "" }

// Rewriting is the postprocessing that changes words, empty where none does.
func (o Options) Rewriting() string {
	if o.Postprocess == "none" {
		return ""
	}
	return o.Postprocess
}

// penalty is what the log-probability of a sentence of that length, its end included, is divided by.
func (o Options) penalty(length int) float64 {
	if o.LengthPenalty == "gnmt" {
		return math.Pow((5+float64(length))/6, o.Lenpen)
	}
	return math.Pow(float64(length), o.Lenpen)
}

// longest is the largest length of a translation of n words, for a model with that many positions.
func (o Options) longest(n, positions int) int {
	limit := math.Floor(o.MaxLengthA*float64(n+1) + float64(o.MaxLengthB))
	return int(min(limit, float64(positions-1)))
}

// Model is a network that translates.
type Model interface {
	Decoder() models.Decoder
}

// Int8Model is a Model that can also translate with weights of eight bits.
type Int8Model interface {
	Model
	Int8Decoder() (models.Decoder, error)
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
	_, nll := torch.SoftmaxLoss(s.mapped(hidden), s.Weight, s.Bias, targets,
		torch.SoftmaxLossOptions{Ignore: tokenize.Pad, Scale: 1, Evaluate: true})
	return nll
}

// Hypothesis is a translation.
type Hypothesis struct {
	IDs           []int32   // without end of sentence
	Score         float64   // LogProb under the length penalty
	LogProb       float64   // natural logarithm, the end of sentence included
	TokenLogProbs []float64 // of each word and of the end of sentence; LogProb is their sum
	// Alignment is, where asked for, the source word that each word attended to most, averaged over heads of the last
	// layer; Second is the one after it, -1 where the source has one word.
	Alignment, Second []int
}
