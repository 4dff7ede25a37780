package record

import (
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/runs/internal/sample"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Data are the keys of section data, but for those that only a language model's vocabulary has.
type Data struct {
	Name string `toml:"name" help:"name of the corpus, as results.json shows it"`
	Dir  string `toml:"dir" path:"folder" resume:"location" help:"folder that holds the texts; empty for the built-in sample"`

	Sample     bool `toml:"sample" default:"false" help:"train on the built-in sample, a corpus generated from sample_seed, instead of files"`
	SampleSeed int  `toml:"sample_seed" default:"1" range:"[0,inf)" help:"seed of the built-in sample"`
	SampleSize int  `toml:"sample_size" default:"2000" range:"[10,10000000]" help:"lines of training text in the built-in sample"`

	Train string   `toml:"train" default:"train" help:"name of the training text, without folder and ending"`
	Valid string   `toml:"valid" default:"valid" help:"name of the validation text"`
	Test  []string `toml:"test" default:"[\"test\"]" resume:"free" help:"names of the test texts"`

	corpus.StoreSettings
	corpus.LineSettings
	bitext.SplitSettings `task:"translation"`
	bitext.TextSettings  `task:"translation" init:"keep"`
	corpus.Limits        `task:"translation"`
}

// samplePairs are those of the sample's validation and test texts, each.
const samplePairs = 500

// Names are those of a translator's texts.
func (d Data) Names() bitext.TextNames {
	return bitext.TextNames{Dir: d.Dir, Train: d.Train, Valid: d.Valid, Tests: d.Test, SplitSettings: d.SplitSettings,
		LineSettings: d.LineSettings}
}

// ReadPairs reads the texts of a translator that the configuration names, or generates the sample.
func (d Data) ReadPairs() (*bitext.Texts, error) {
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
	return &bitext.Texts{Train: some, Valid: made("valid", valid), Tests: []bitext.Lines{made("test", test)},
		Sums: sums}, err
}

// digest is the SHA-256 of the file that lines would make.
func digest(lines []string) string {
	hash := sha256.New()
	for _, line := range lines {
		io.WriteString(hash, line+"\n")
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// ReadLines reads a text of a translator that is not for training, or what the sample has in its place.
func (d Data) ReadLines(name string) (bitext.Lines, error) {
	if d.Sample {
		texts, err := d.ReadPairs()
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
