package train

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/score"
)

func (t *translationTask) validNLL() (float64, error) {
	return t.SharedNLL(t.peers, t.data.ValidPairs, t.config.Train.MaxTokens)
}

// validUnits are none: two vocabularies share no word.
func (t *translationTask) validUnits(float64) record.AnyUnits { return record.AnyUnits{} }

func (t *translationTask) validate() (validation, error) {
	c := t.config
	nll, err := t.validNLL()
	v := validation{nll: nll, score: nll}
	if err != nil || c.Decode.ValidationBeam == 0 {
		return v, err
	}
	options := t.Settings.Decode
	options.Beam = c.Decode.ValidationBeam
	outputs, err := t.SharedTranslate(context.Background(), t.peers, t.data.Valid.Source, options)
	if err != nil {
		return v, err
	}
	hypotheses, references := t.tokenised(outputs, t.data.Valid)
	bleu, err := score.MultiBLEU(hypotheses, [][]string{references}, false)
	if err != nil {
		return v, err
	}
	v.bleu = &bleu.Score
	if c.Train.PatienceOn == "bleu" {
		v.score = -bleu.Score
	}
	for i, o := range outputs[:min(c.Report.Samples, len(outputs))] {
		source, reference := t.data.Valid.Source[i], t.data.Valid.Target[i]
		v.samples += fmt.Sprintf("source\t%s\nreference\t%s\noutput\t%s\n\n", source, reference, o.Text)
	}
	return v, nil
}

// tokenised are outputs and their references as the text that the model was trained on.
func (t *translationTask) tokenised(outputs []translation.Translation, s bitext.Lines) (ours, references []string) {
	for i, o := range outputs {
		ours, references = append(ours, o.Tokenised), append(references, t.Text.Target.Tokenize(s.Target[i]))
	}
	return ours, references
}

func (t *translationTask) tests() (names []string) {
	for _, s := range t.data.Tests {
		names = append(names, s.Name)
	}
	return names
}

func (t *translationTask) samples() []report.Sample { return t.shown }

func (t *translationTask) alike() string { return t.same }

// mostlyOne says so where more than half of the lines are one and the same, unless that is usual for the references.
func mostlyOne(name string, lines, references []string) string {
	line, most := commonest(lines)
	if _, usual := commonest(references); len(lines) < 2 || 2*most <= len(lines) || most <= usual {
		return ""
	}
	if text := []rune(line); len(text) > 40 {
		line = string(text[:40]) + "…"
	}
	return fmt.Sprintf("%d of %d translations of %s are %q", most, len(lines), name, line)
}

func commonest(lines []string) (line string, times int) {
	counts := map[string]int{}
	for _, l := range lines {
		if counts[l]++; counts[l] > times {
			line, times = l, counts[l]
		}
	}
	return line, times
}

func (t *translationTask) test(i int) (out record.TestScores, err error) {
	s := t.data.Tests[i]
	pairs, err := t.Text.TestPairs(s)
	if err != nil {
		return out, err
	}
	nll, err := t.SharedNLL(t.peers, pairs, t.config.Train.MaxTokens)
	if err != nil {
		return out, err
	}
	out.NLL, out.PPL = lossNumbers(t.Output, nll)
	outputs, err := t.SharedTranslate(context.Background(), t.peers, s.Source, t.Settings.Decode)
	if err != nil || !t.peers.First() {
		return out, err
	}
	raw := make([]string, len(outputs))
	for i, o := range outputs {
		raw[i] = o.Text
	}
	references := [][]string{s.Target}
	bleu, err := score.BLEUOptions{Lowercase: t.config.Data.Lowercase}.Corpus(raw, references)
	if err != nil {
		return out, err
	}
	hypotheses, tokenised := t.tokenised(outputs, s)
	multi, err := score.MultiBLEU(hypotheses, [][]string{tokenised}, false)
	if err != nil {
		return out, err
	}
	if t.seen == nil {
		if t.seen, err = t.Text.Target.WordCounts(t.data.Train.Target); err != nil {
			return out, err
		}
	}
	buckets, err := score.WordF1(hypotheses, tokenised, t.seen)
	if err != nil {
		return out, err
	}
	out.F1 = map[string]record.Number{}
	for _, b := range buckets {
		out.F1[b.Name()] = record.Num(b.F1())
	}
	chrf, err := score.CHRFOptions{Lowercase: t.config.Data.Lowercase}.Corpus(raw, references)
	if err != nil {
		return out, err
	}
	out.BLEU, out.BLEUSignature = record.Num(bleu.Score), record.Text(bleu.Signature())
	out.BLEUTok, out.ChrF = record.Num(multi.Score), record.Num(chrf.Score)
	d := t.config.Decode
	t.run.Log.Printf("test %s: BLEU %.2f (%s), tokenised BLEU %.2f, chrF %.2f, %s; beam %d, %s length penalty %g",
		s.Name, bleu.Score, bleu.Signature(), multi.Score, chrf.Score, lossWords(t.Output, nll),
		d.Beam, d.LengthPenalty, d.Lenpen)
	t.same = cmp.Or(t.same, mostlyOne(s.Name, raw, s.Target))
	if t.shown == nil {
		for i, output := range raw[:min(t.config.Report.Samples, len(raw))] {
			t.shown = append(t.shown, report.Sample{Source: s.Source[i], Reference: s.Target[i], Output: output})
		}
	}
	text := strings.Join(raw, "\n") + "\n"
	name := filepath.Base(s.Name) + "." + t.config.Data.Target
	return out, files.Write(t.run.Path(experiment.SamplesDir, name), []byte(text))
}
