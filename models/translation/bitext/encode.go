package bitext

import (
	"runtime"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// encoding is how parallel text becomes ids. Its key is made of the text and of all that the ids depend on.
func (p *Sides) encoding(text corpus.Parallel) (corpus.Encoding, error) {
	learnt, err := p.files()
	if err != nil {
		return corpus.Encoding{}, err
	}
	delete(learnt, p.lexiconFile()) // it translates words and changes no id
	d := p.settings
	way := TextSettings{
		Source: d.Source, Target: d.Target,
		Lowercase: d.Lowercase, Normalize: d.Normalize, OPUS: d.OPUS, Tokenize: d.Tokenize,
		Aggressive: d.Aggressive, Escape: d.Escape, Truecase: d.Truecase, VocabularyThreshold: d.VocabularyThreshold,
	}
	return corpus.Encoding{
		Key:     keyOf("pairs", text, way, learnt),
		Text:    text,
		Largest: int32(max(p.Source.Vocabulary.Len(), p.Target.Vocabulary.Len()) - 1),
		Encoders: func() (source, target corpus.Encoder, err error) {
			if source, err = p.Source.Encoder(); err == nil {
				target, err = p.Target.Encoder()
			}
			return source, target, err
		},
	}, nil
}

// rememberedBytes are what the encoders of one language have together for words whose ids they know.
const rememberedBytes = 24 << 20

// Encoder is Encode for one goroutine.
func (s *Side) Encoder() (corpus.Encoder, error) {
	if s.pieces != nil {
		return func(ids []int32, line string) []int32 { return append(ids, s.Encode(line)...) }, nil
	}
	var bpe *tokenize.BPE // of its own, for one cannot be shared
	if s.bpe != nil {
		var err error
		if bpe, err = s.newBPE(); err != nil {
			return nil, err
		}
	}
	e := tokenize.NewEncoder(bpe, s.Vocabulary, rememberedBytes/runtime.GOMAXPROCS(0))
	return func(ids []int32, line string) []int32 { return e.Append(ids, s.Tokenize(line)) }, nil
}
