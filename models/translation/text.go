package translation

import (
	"path/filepath"

	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// LearnText makes both sides from raw training text, by way of the cache unless that is nil; for a method that aims at
// vectors of words, the target vectors too, from the file that the configuration names or from the text. The target's
// words are then those that have a vector. data.target_size counts those of a file; where the text makes the vectors
// it comes first, so that <unk> has the vector of all rarer words.
func LearnText(s Settings, text corpus.Parallel, cache *corpus.Cache) (*bitext.Sides, error) {
	d, o := s.Text, objectives.Of[vectors.Options](s.Objective)
	if s.targetVectors() && o.File != "" {
		d.TargetSize = 0 // which words have a vector is known only then
	}
	pair, err := bitext.Learn(d, text, cache)
	if err != nil || !s.targetVectors() {
		return pair, err
	}
	table, err := s.learnVectors(pair.Target, text.Target)
	if err != nil {
		return nil, err
	}
	pair.Target.Vocabulary, pair.Vectors = table.Cover(pair.Target.Vocabulary, s.Text.TargetSize)
	if o.End == "constant" {
		pair.Vectors.EndByConstant()
	}
	if o.Centre {
		if err := pair.Vectors.Centre(pair.Target.Vocabulary); err != nil {
			return nil, err
		}
	}
	return pair, nil
}

func (s Settings) learnVectors(side *bitext.Side, text corpus.Text) (*vectors.Table, error) {
	o := objectives.Of[vectors.Options](s.Objective)
	if o.File != "" {
		return vectors.Open(o.File, side.Vocabulary)
	}
	sentences := make([][]int32, 0, text.Len())
	worker := func() (func([][]string) ([][]int32, error), error) {
		encode, err := side.Encoder()
		return func(lines [][]string) ([][]int32, error) {
			block := make([][]int32, len(lines[0]))
			for i, line := range lines[0] {
				block[i] = encode(nil, line)
			}
			return block, nil
		}, err
	}
	err := corpus.Blocks([]corpus.Text{text}, worker, func(block [][]int32) error {
		sentences = append(sentences, block...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if o.Width == 0 {
		// The map from states of width D reaches a space of D dimensions at most. Where vectors have more, it cannot
		// reach them: at width 128 vectors of 128 numbers give 50 BLEU on the sample, and 64 give 57
		// (docs/results/continuous.md).
		o.Width = max(1, min(s.Model.Width/2, 300))
	}
	return vectors.Build(sentences, side.Vocabulary, o, s.Seed)
}

// targetVectors reports whether the method aims at vectors of words.
func (s Settings) targetVectors() bool {
	m, err := s.Objective.Resolve()
	return err == nil && m.WordTargets
}

// SaveText keeps what LearnText made in a run's tokenizer folder: the run and its translations
// need no other file then. It must be called on the torch thread, as OpenText.
func SaveText(pair *bitext.Sides, folder string) error {
	if err := pair.Save(folder); err != nil || pair.Vectors == nil {
		return err
	}
	return saveVectors(pair.Vectors, vectorsPath(pair.Target.Language, folder))
}

// OpenText reads what SaveText kept.
func OpenText(s Settings, folder string) (*bitext.Sides, error) {
	pair, err := bitext.OpenSides(s.Text, folder)
	if err != nil || !s.targetVectors() {
		return pair, err
	}
	pair.Vectors, err = loadVectors(vectorsPath(pair.Target.Language, folder), pair.Target.Vocabulary)
	return pair, err
}

func vectorsPath(language, folder string) string {
	return filepath.Join(folder, "vectors."+language+".safetensors")
}
