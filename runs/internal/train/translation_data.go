package train

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/sample"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// split is raw parallel text.
type split struct {
	name           string
	source, target []string
}

// pairedTexts is the corpus of a translator's run, raw and as ids.
type pairedTexts struct {
	train, valid split
	tests        []split
	sums         map[string]string // sha256 of each file

	trainPairs, validPairs []corpus.Pair
	filtered               corpus.FilterReport
}

// readPairs reads the texts that the configuration names, or generates the sample.
func readPairs(d experiment.Data) (*pairedTexts, error) {
	out := &pairedTexts{sums: map[string]string{}}
	if d.Sample {
		train, valid, test := sample.Translation(uint64(d.SampleSeed), d.SampleSize, sampleTest, sampleTest)
		out.train = split{"train", train.Source, train.Target}
		out.valid = split{"valid", valid.Source, valid.Target}
		out.tests = []split{{"test", test.Source, test.Target}}
		for _, s := range []split{out.train, out.valid, out.tests[0]} {
			out.sums[s.name+"."+d.Source], out.sums[s.name+"."+d.Target] = digest(s.source), digest(s.target)
		}
		return out, nil
	}
	read := func(name, flag string) (split, error) {
		path := func(language string) string { return filepath.Join(d.Dir, name+"."+language) }
		source, target, err := corpus.ReadParallel(path(d.Source), path(d.Target), flag)
		if err != nil {
			return split{}, err
		}
		for _, t := range []corpus.Text{source, target} {
			out.sums[filepath.Base(t.Path)] = t.SHA256
		}
		return split{name, source.Lines, target.Lines}, nil
	}
	var err error
	if out.train, err = read(d.Train, "-train"); err != nil {
		return nil, err
	}
	if out.valid, err = read(d.Valid, "-valid"); err != nil {
		return nil, err
	}
	for _, name := range d.Test {
		test, err := read(name, "-test")
		if err != nil {
			return nil, err
		}
		out.tests = append(out.tests, test)
	}
	return out, nil
}

// digest is the sha256 of the file that lines would make.
func digest(lines []string) string {
	hash := sha256.New()
	for _, line := range lines {
		io.WriteString(hash, line+"\n")
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// sampleTest is the size of the sample's validation and test texts.
const sampleTest = 500

// encode turns the texts for training and validation into ids.
func (d *pairedTexts) encode(p *translation.Pair, limits corpus.Limits, longest int) error {
	encode := func(s split) []corpus.Pair {
		return corpus.Encode(s.source, s.target, p.Source.Encode, p.Target.Encode)
	}
	// What is translated for a score is not left out of it: better known now than after training.
	for _, s := range append([]split{d.valid}, d.tests...) {
		for _, pair := range encode(s) {
			n, language := len(pair.Source), p.Source.Language
			if len(pair.Target) > n {
				n, language = len(pair.Target), p.Target.Language
			}
			if n >= longest {
				return fmt.Errorf("%s.%s:%d: this line has %d symbols with its end, more than model.max_positions (%d): raise that, or split the line", s.name, language, pair.Line, n+1, longest)
			}
		}
	}
	// Nothing longer than the model's positions can be trained on.
	if limits.MaxLength == 0 || limits.MaxLength > longest-1 {
		limits.MaxLength = longest - 1
	}
	var err error
	d.trainPairs, d.filtered, err = corpus.Filter(encode(d.train), limits)
	if err != nil {
		return fmt.Errorf("training text: %w", err)
	}
	d.validPairs, _, err = corpus.Filter(encode(d.valid), corpus.Limits{MaxLength: longest - 1})
	if err != nil {
		return fmt.Errorf("validation text: %w", err)
	}
	return nil
}
