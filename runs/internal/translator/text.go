package translator

import (
	"path/filepath"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/text"
)

// LearnText makes both sides from raw training text; for a method that aims at vectors of
// words, the target vectors too, from the file that the configuration names or from the text. The
// target's words are then those that have a vector.
func LearnText(c experiment.Config, source, target []string) (*text.Pair, error) {
	pair, err := text.Learn(c.Data, source, target)
	if err != nil || !objectives.IsContinuous(c.Objective.Method) {
		return pair, err
	}
	table, err := learnVectors(c, pair.Target, target)
	if err != nil {
		return nil, err
	}
	pair.Target.Vocabulary, pair.Vectors = table.Cover(pair.Target.Vocabulary)
	return pair, nil
}

func learnVectors(c experiment.Config, side *text.Side, lines []string) (*vectors.Table, error) {
	if c.Objective.Vectors != "" {
		return vectors.Open(c.Objective.Vectors, side.Vocabulary)
	}
	sentences := make([][]int32, len(lines))
	for i, line := range lines {
		sentences[i] = side.Encode(line)
	}
	return vectors.Build(sentences, side.Vocabulary, vectors.Options{
		Width: c.Objective.VectorsWidth, Window: c.Objective.VectorsWindow, Seed: uint64(c.Train.Seed),
	})
}

// SaveText keeps what LearnText made in a run's tokenizer folder: the run and its translations
// need no other file then. It must be called on the torch thread, as OpenText.
func SaveText(pair *text.Pair, folder string) error {
	if err := pair.Save(folder); err != nil || pair.Vectors == nil {
		return err
	}
	return pair.Vectors.Save(vectorsPath(pair.Target.Language, folder))
}

// OpenText reads what SaveText kept.
func OpenText(c experiment.Config, folder string) (*text.Pair, error) {
	pair, err := text.Open(c.Data, folder)
	if err != nil || !objectives.IsContinuous(c.Objective.Method) {
		return pair, err
	}
	pair.Vectors, err = vectors.Load(vectorsPath(pair.Target.Language, folder), pair.Target.Vocabulary)
	return pair, err
}

func vectorsPath(language, folder string) string {
	return filepath.Join(folder, "vectors."+language+".safetensors")
}
