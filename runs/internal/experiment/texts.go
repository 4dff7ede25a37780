package experiment

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/runs/internal/sample"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Lines of the sample's validation and test texts, each.
const (
	samplePairs = 500  // of a translator
	sampleLines = 1000 // of a language model
)

// ReadText reads the texts of a language model that the configuration names, or generates the sample, with the words of
// the run in folder (see [language.ReadTexts]).
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

// Names are those of a translator's texts.
func (d Data) Names() bitext.TextNames {
	return bitext.TextNames{
		Dir: d.Dir, Train: d.Train, Valid: d.Valid, Tests: d.Test,
		SplitSettings: d.SplitSettings, LineSettings: d.LineSettings,
	}
}

// ReadPairs reads the texts of a translator that the configuration names, or generates the sample.
func ReadPairs(d Data) (*bitext.Texts, error) {
	if !d.Sample {
		return bitext.ReadFiles(d.TextSettings, d.Names(), d.Cache())
	}
	train, valid, test := sample.Translation(uint64(d.SampleSeed), d.SampleSize, samplePairs, samplePairs)
	sums := map[string]string{}
	made := func(name string, t sample.Split) bitext.Lines {
		sums[name+"."+d.Source], sums[name+"."+d.Target] = digest(t.Source), digest(t.Target)
		return bitext.Lines{Name: name, Source: t.Source, Target: t.Target}
	}
	some, err := made("train", train).Parallel().Some(d.TrainPairs, "data.train_pairs")
	tests := []bitext.Lines{made("test", test)}
	return &bitext.Texts{Train: some, Valid: made("valid", valid), Tests: tests, Sums: sums}, err
}

func digest(lines []string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "\n")+"\n")))
}

// ReadLines reads a text of a translator that is not for training, or the sample's.
func ReadLines(d Data, name string) (bitext.Lines, error) {
	if d.Sample {
		texts, err := ReadPairs(d)
		switch {
		case err != nil:
			return bitext.Lines{}, err
		case name == d.Valid:
			return texts.Valid, nil
		}
		return texts.Tests[0], nil
	}
	return bitext.ReadLines(d.TextSettings, d.Names(), name, "data.dir", d.Cache())
}
