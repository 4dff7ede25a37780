package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/internal/sample"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Lines of the sample's validation and test texts, each.
const (
	samplePairs = 500  // of a translator
	sampleLines = 1000 // of a language model
)

// ReadText reads the texts of a language model that the configuration names, DIR/NAME.txt, or generates the sample. Their words
// are those of the run in folder (see [language.ReadTexts]).
func ReadText(d Data, folder string) (*language.Texts, error) {
	read := func(name, flag string, words *corpus.Words) (corpus.Running, error) {
		return corpus.ReadRunning(filepath.Join(d.Dir, name+".txt"), flag, words)
	}
	if d.Sample {
		train, valid, test := sample.Text(uint64(d.SampleSeed), d.SampleSize, sampleLines, sampleLines)
		lines := map[string][]string{"-train": train, "-valid": valid, "-test": test} // whatever they are called
		read = func(name, flag string, words *corpus.Words) (corpus.Running, error) {
			return corpus.RunningLines(lines[flag], name, words)
		}
	}
	return language.ReadTexts(d.VocabularySettings, folder, language.TextNames{Train: d.Train, Valid: d.Valid, Tests: d.Test}, read)
}

// ReadPairs reads the texts of a translator that the configuration names, DIR/NAME.LANGUAGE, or generates the sample. sums are
// the SHA-256 of each file.
func ReadPairs(d Data) (texts *translation.Texts, sums map[string]string, err error) {
	sums = map[string]string{}
	if d.Sample {
		train, valid, test := sample.Translation(uint64(d.SampleSeed), d.SampleSize, samplePairs, samplePairs)
		made := func(name string, t sample.Split) translation.Lines {
			sums[name+"."+d.Source], sums[name+"."+d.Target] = digest(t.Source), digest(t.Target)
			return translation.Lines{Name: name, Source: t.Source, Target: t.Target}
		}
		return &translation.Texts{Train: made("train", train), Valid: made("valid", valid), Tests: []translation.Lines{made("test", test)}}, sums, nil
	}
	read := func(name, flag string) translation.Lines {
		if err != nil {
			return translation.Lines{}
		}
		path := func(language string) string { return filepath.Join(d.Dir, name+"."+language) }
		var source, target corpus.Text
		source, target, err = corpus.ReadParallel(path(d.Source), path(d.Target), flag)
		sums[filepath.Base(source.Path)], sums[filepath.Base(target.Path)] = source.SHA256, target.SHA256
		return translation.Lines{Name: name, Source: source.Lines, Target: target.Lines}
	}
	texts = &translation.Texts{Train: read(d.Train, "-train"), Valid: read(d.Valid, "-valid")}
	for _, name := range d.Test {
		texts.Tests = append(texts.Tests, read(name, "-test"))
	}
	return texts, sums, err
}

// digest is the SHA-256 of the file that lines would make.
func digest(lines []string) string {
	hash := sha256.New()
	for _, line := range lines {
		io.WriteString(hash, line+"\n")
	}
	return hex.EncodeToString(hash.Sum(nil))
}
