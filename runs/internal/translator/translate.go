package translator

import (
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// Translation is one translation of a line.
type Translation struct {
	Text      string  // running text
	Tokenised string  // the same as words joined by single spaces
	Score     float64 // natural log-probability under the length penalty
}

// DecodeOptions are the search settings of the configuration.
func (t *Translator) DecodeOptions() decode.Options {
	d := t.Config.Decode
	o := decode.Defaults()
	o.Beam, o.LengthPenalty, o.Lenpen = d.Beam, d.LengthPenalty, d.LenPen
	o.MaxLengthA, o.MaxLengthB, o.MinLength = d.MaxLengthA, d.MaxLengthB, d.MinLength
	o.NoRepeatNgram, o.BatchSentences, o.Alignment = d.NoRepeatNgram, d.BatchSentences, d.ReplaceUnk
	return o
}

// Translate returns the best translation of each raw line. An empty line gives
// an empty translation.
func (t *Translator) Translate(lines []string, o decode.Options) ([]Translation, error) {
	all, err := t.TranslateNBest(lines, o)
	if err != nil {
		return nil, err
	}
	best := make([]Translation, len(all))
	for i, list := range all {
		if len(list) > 0 {
			best[i] = list[0]
		}
	}
	return best, nil
}

// TranslateNBest returns the options' n best translations of each raw line, best
// first.
func (t *Translator) TranslateNBest(lines []string, o decode.Options) ([][]Translation, error) {
	units := make([][]string, len(lines))
	var sources [][]int32
	var places []int // of the lines that are not empty
	for i, line := range lines {
		units[i] = t.Text.Source.Units(t.Text.Source.Tokenize(line))
		if len(units[i]) == 0 {
			continue
		}
		places = append(places, i)
		sources = append(sources, t.Text.Source.Vocabulary.Encode(units[i]))
	}
	out := make([][]Translation, len(lines))
	for i := range out {
		out[i] = []Translation{{}}
	}
	found, err := decode.Search(t.Model, t.scorer(), sources, o, nil)
	if err != nil {
		return nil, err
	}
	for k, hypotheses := range found {
		i := places[k]
		out[i] = out[i][:0]
		for _, h := range hypotheses {
			symbols := t.Text.Target.Vocabulary.Decode(h.IDs)
			for j, id := range h.IDs {
				if id == tokenize.Unk && j < len(h.Alignment) && h.Alignment[j] >= 0 && h.Alignment[j] < len(units[i]) {
					symbols[j] = t.sourceWord(units[i], h.Alignment[j])
				}
			}
			tokenised := t.Text.Target.Join(symbols)
			out[i] = append(out[i], Translation{t.Text.Target.Raw(tokenised), tokenised, h.Score})
		}
	}
	return out, nil
}

// sourceWord is the whole word that a source unit belongs to.
func (t *Translator) sourceWord(units []string, place int) string {
	first, last := place, place
	for first > 0 && strings.HasSuffix(units[first-1], tokenize.DefaultSeparator) {
		first--
	}
	for last < len(units)-1 && strings.HasSuffix(units[last], tokenize.DefaultSeparator) {
		last++
	}
	return t.Text.Source.Join(slices.Clone(units[first : last+1]))
}

func (t *Translator) scorer() decode.Scorer {
	if head, bias, ok := t.Output.SoftmaxHead(); ok {
		return decode.Softmax{Weight: head.Weight, Bias: bias, Map: head.Map}
	}
	if objectives.IsContinuous(t.Config.Objective.Method) {
		return nearest{t.Output}
	}
	return t.Output
}

// nearest is an output layer that finds words by their vectors.
type nearest struct{ *objectives.Output }

func (n nearest) Nearest(hidden torch.Tensor, k int) (scores, ids torch.Tensor) {
	scores, ids, _ = n.Output.Nearest(hidden, k)
	return scores, ids
}

// Force gives the log-probability of each translation that is given, raw, after
// its raw source.
func (t *Translator) Force(sources, targets []string, o decode.Options) ([]decode.Scored, error) {
	source, target := make([][]int32, len(sources)), make([][]int32, len(targets))
	for i, line := range sources {
		source[i] = t.Text.Source.Encode(line)
	}
	for i, line := range targets {
		target[i] = t.Text.Target.Encode(line)
	}
	nll := func(hidden, targets torch.Tensor) torch.Tensor {
		return t.Output.NLL(objectives.States{Hidden: hidden}, targets)
	}
	return decode.Score(t.Model, nll, source, target, t.Config.Model.MaxPositions, o)
}

var _ decode.Scorer = (*objectives.Output)(nil)
var _ models.Embedder = (*objectives.Output)(nil)
