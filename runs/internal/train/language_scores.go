package train

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
)

func (t *languageTask) validNLL() (float64, error) {
	sum, tokens, err := t.SharedNLL(t.peers, t.valid)
	return sum / float64(tokens), err
}

func (t *languageTask) validate() (validation, error) {
	nll, err := t.validNLL()
	v := validation{nll: nll, score: nll}
	if err != nil || !t.peers.First() {
		return v, err
	}
	t.shown = t.continuations()
	var b strings.Builder
	for _, s := range t.shown {
		fmt.Fprintf(&b, "text\t%s\ncontinuation\t%s\noutput\t%s\n\n", s.Source, s.Reference, s.Output)
	}
	v.samples = b.String()
	return v, nil
}

// Words of the validation text that a sample shows, and words that follow.
const (
	samplePrompt = 12
	sampleWords  = 25
)

// continuations are drawn for pieces of the validation text, with the same luck
// each time, so that what changes is the model.
func (t *languageTask) continuations() []report.Sample {
	var all []report.Sample
	ids := t.texts.Valid.IDs
	for i := range t.config.Report.Samples {
		begin := i * (len(ids) / max(1, t.config.Report.Samples))
		if begin+samplePrompt+sampleWords > len(ids) {
			break
		}
		prompt, rest := ids[begin:begin+samplePrompt], ids[begin+samplePrompt:begin+samplePrompt+sampleWords]
		output := t.Continue(context.Background(), prompt, language.SampleOptions{Words: sampleWords, Temperature: 1, Seed: uint64(t.config.Train.Seed), Stream: uint64(i)})
		all = append(all, report.Sample{Source: t.Words.Text(prompt), Reference: t.Words.Text(rest), Output: t.Words.Text(output)})
	}
	return all
}

func (t *languageTask) samples() []report.Sample {
	if t.shown == nil {
		t.shown = t.continuations()
	}
	return t.shown
}

func (t *languageTask) alike() string { return "" }

func (t *languageTask) tests() []string {
	names := make([]string, len(t.texts.Tests))
	for i, s := range t.texts.Tests {
		names[i] = s.Name
	}
	return names
}

func (t *languageTask) test(i int) (experiment.TestScores, error) {
	t.shown = nil // they were of other weights, maybe
	columns, err := t.testColumns(t.texts.Tests[i])
	if err != nil {
		return experiment.TestScores{}, err
	}
	sum, tokens, err := t.SharedNLL(t.peers, columns)
	if err != nil {
		return experiment.TestScores{}, err
	}
	nll := sum / float64(tokens)
	t.run.Log.Printf("test %s: loss %.4f, ppl %.2f over %d tokens (%.2f as AWD-LSTM's program divides)", t.texts.Tests[i].Name, nll, math.Exp(nll), tokens, math.Exp(columns.Legacy(nll)))
	return experiment.TestScores{NLL: experiment.Num(nll), PPL: experiment.Num(math.Exp(nll))}, nil
}
