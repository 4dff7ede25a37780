package translation

import (
	"math"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// wordsOf are the words of a text with their probabilities, and the line's, given the tokens behind the text.
func wordsOf(text string, tokens []token, h decode.Hypothesis) (words []Word, confidence float64) {
	for _, word := range strings.Fields(text) {
		words = append(words, Word{Text: word})
	}
	logProbs := make([]float64, len(words))
	for i, span := range tokenize.WordSpans(text, texts(tokens)) {
		for w := span.First; w <= span.Last; w++ {
			for _, p := range h.TokenLogProbs[tokens[i].first:tokens[i].end] {
				logProbs[w] += p
			}
		}
	}
	for i, p := range logProbs {
		words[i].Confidence = math.Exp(p)
	}
	return words, math.Exp(h.LogProb / float64(len(h.TokenLogProbs)))
}

func texts(tokens []token) (out []string) {
	for _, x := range tokens {
		out = append(out, x.text)
	}
	return out
}

// link finds the source word of each word of a translation: the one to which its symbols, one after the other, attend
// most.
func (t *Translator) link(line string, units []string, source []int32, h decode.Hypothesis, tokens []token, x *Translation) {
	var sourceTokens []string
	var ends []int // of the symbols of each
	for i := 0; i < len(units); {
		end := i + 1
		for end < len(units) && t.Text.Source.Joined(units[end-1], units[end]) {
			end++
		}
		sourceTokens = append(sourceTokens, t.Text.Source.Join(slices.Clone(units[i:end])))
		ends = append(ends, end)
		i = end
	}
	attention, width := t.attention(source, h.IDs)
	weights := make([][]float64, len(x.Words)) // by word and source word
	sourceSpans := tokenize.WordSpans(line, sourceTokens)
	sourceWords := len(strings.Fields(line))
	for i, span := range tokenize.WordSpans(x.Text, texts(tokens)) {
		for w := span.First; w <= span.Last; w++ {
			if weights[w] == nil {
				weights[w] = make([]float64, sourceWords)
			}
			for s := tokens[i].first; s < tokens[i].end; s++ {
				row, begin := attention[(s+LinkShift)*width:][:width], 0
				for k, from := range sourceSpans {
					for _, a := range row[begin:ends[k]] {
						for v := from.First; v <= from.Last; v++ {
							weights[w][v] += float64(a)
						}
					}
					begin = ends[k]
				}
			}
		}
	}
	for w, row := range weights {
		if len(row) == 0 {
			continue
		}
		x.Words[w].Source = []int{slices.Index(row, slices.Max(row))}
	}
}

// LinkLayer and LinkShift are for experiments.
var LinkLayer, LinkShift = -1, 0

// attention is what each place of a translation attends to in the source, [T,S], the ends of sentence included: row t
// belongs to the step at which symbol t is predicted.
func (t *Translator) attention(source, target []int32) (weights []float32, width int) {
	scope := torch.OpenScope()
	defer scope.Close()
	tokens := func(ids []int32, before bool) (out models.Tokens) {
		for _, id := range ids {
			out.IDs = append(out.IDs, int64(id))
		}
		if before {
			out.IDs = append([]int64{tokenize.EOS}, out.IDs...)
		} else {
			out.IDs = append(out.IDs, tokenize.EOS)
		}
		out.Rows, out.Width = 1, len(out.IDs)
		return out
	}
	from, prev := tokens(source, false), tokens(target, true)
	torch.NoGrad(func() {
		if network, ok := t.Network.(*models.Transformer); ok {
			weights = network.CrossAttention(from, prev, LinkLayer).Float32s()
			return
		}
		decoder := t.Network.Decoder()
		defer decoder.Free()
		decoding := decoder.Start(from)
		defer decoding.Free()
		for _, id := range prev.IDs {
			_, a := decoding.Step([]int64{id}, true)
			weights = append(weights, a.Float32s()...)
		}
	})
	return weights, from.Width
}
