package experiment

import (
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/sample"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// sampleLines are those of the sample's validation and test texts, each.
const sampleLines = 1000

// ReadText reads the texts of a language model that the configuration names, or generates the sample, with the words of
// the run in folder (see [language.ReadTexts]). Without a name the training text is left out.
func ReadText(d Data, folder string) (*language.Texts, error) {
	names := language.TextNames{Train: d.Train, Valid: d.Valid, Tests: d.Test, LineSettings: d.LineSettings}
	if !d.Sample {
		return language.ReadFiles(d.VocabularySettings, folder, names, d.Dir, d.Cache())
	}
	train, valid, test := sample.Text(uint64(d.SampleSeed), d.SampleSize, sampleLines, sampleLines)
	lines := map[string][]string{"-train": train, "-valid": valid, "-test": test} // whatever they are called
	read := func(name, flag string, words *corpus.Words) (corpus.Running, error) {
		return corpus.RunningLines(lines[flag], name, words)
	}
	return language.ReadTexts(d.VocabularySettings, folder, names, read)
}
