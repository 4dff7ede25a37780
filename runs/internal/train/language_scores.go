package train

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
)

func (t *languageTask) validNLL() (float64, error) {
	sum, tokens, err := t.SharedNLL(t.peers, t.valid)
	return sum / float64(tokens), err
}

func (t *languageTask) validUnits(nll float64) record.AnyUnits { return t.units(t.texts.Valid, nll) }

// units are scores of a text that do not depend on the model's tokens.
func (t *languageTask) units(text language.Text, nll float64) (u record.AnyUnits) {
	u.PPLWord, u.BitsByte = record.Num(math.Exp(text.PerWord(nll))), record.Num(text.BitsPerByte(nll))
	return u
}

func (t *languageTask) validate() (validation, error) {
	nll, err := t.validNLL()
	v := validation{nll: nll, score: nll}
	if err != nil || !t.peers.First() {
		return v, err
	}
	var b strings.Builder
	for _, s := range t.samples() {
		fmt.Fprintf(&b, "text\t%s\ncontinuation\t%s\noutput\t%s\n\n", s.Source, s.Reference, s.Output)
	}
	v.samples = b.String()
	return v, nil
}

// Words of the validation text that a sample shows, and words that follow.
const samplePrompt, sampleWords = 12, 25

// samples are drawn for pieces of the validation text, from the same streams each time: only the model changes.
func (t *languageTask) samples() (all []report.Sample) {
	ids, count := t.texts.Valid.IDs, t.config.Report.Samples
	for i := range count {
		from := ids[i*(len(ids)/count):]
		if len(from) < samplePrompt+sampleWords {
			break
		}
		prompt, rest := from[:samplePrompt], from[samplePrompt:samplePrompt+sampleWords]
		output := t.Continue(context.Background(), prompt, language.SampleOptions{
			Words: sampleWords, Temperature: 1, Seed: uint64(t.config.Train.Seed), Stream: uint64(i),
		})
		text := t.Words.Text
		all = append(all, report.Sample{Source: text(prompt), Reference: text(rest), Output: text(output)})
	}
	return all
}

func (t *languageTask) alike() string { return "" }

func (t *languageTask) tests() (names []string) {
	for _, s := range t.texts.Tests {
		names = append(names, s.Name)
	}
	return names
}

func (t *languageTask) test(i int) (out record.TestScores, err error) {
	text := t.texts.Tests[i]
	columns, err := t.testColumns(text)
	if err != nil {
		return out, err
	}
	sum, tokens, err := t.SharedNLL(t.peers, columns)
	if err != nil {
		return out, err
	}
	nll := sum / float64(tokens)
	across := t.units(text, nll)
	other := fmt.Sprintf("%.2f as AWD-LSTM's program divides", math.Exp(columns.Legacy(nll)))
	if t.Words.Pieces() != nil {
		other = fmt.Sprintf("%.2f a word", across.PPLWord.Value())
	}
	t.run.Log.Printf("test %s: loss %.4f, ppl %.2f over %d tokens (%s), %.3f bits a byte", text.Name, nll,
		math.Exp(nll), tokens, other, across.BitsByte.Value())
	return record.TestScores{NLL: record.Num(nll), PPL: record.Num(math.Exp(nll)), AnyUnits: across}, nil
}
