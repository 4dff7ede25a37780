package train

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/corpus"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/runs/internal/score"
	"github.com/aperture-ml/aperture/runs/internal/translator"
	"github.com/aperture-ml/aperture/torch"
)

// withAverage runs f on the averaged weights, where there is an average.
func (t *trainer) withAverage(f func() error) error {
	if t.average == nil {
		return f()
	}
	scope := torch.OpenScope()
	defer scope.Close()
	params := t.Params.Tensors()
	raw := make([]torch.Tensor, len(params))
	for i, p := range params {
		raw[i] = p.Detach().Clone()
		p.Assign(t.average[i])
	}
	defer func() {
		for i, p := range params {
			p.Assign(raw[i])
		}
	}()
	return f()
}

// nll is the clean negative log-likelihood of pairs in nats per target token.
func (t *trainer) nll(pairs []corpus.Pair) float64 {
	sum, tokens := 0.0, 0
	for _, batch := range corpus.EvaluationBatches(pairs, t.config.Train.MaxTokens, 0) {
		scope := torch.OpenScope()
		torch.NoGrad(func() {
			states := t.Model.Forward(source(batch), prev(batch), nil)
			for _, x := range t.Output.NLL(translator.OutputStates(states, batch.Rows), t.targets(batch)).Float64s() {
				sum += x
			}
		})
		tokens += batch.Tokens
		scope.Close()
	}
	return sum / float64(max(1, tokens))
}

// validate measures the validation text, and reports whether the score that
// chooses the best checkpoint is better than before.
func (t *trainer) validate() (better bool, err error) {
	c := t.config
	record := t.record(report.SplitValid)
	var score float64
	err = t.withAverage(func() error {
		nll := t.nll(t.data.validPairs)
		record.Values[report.Loss], record.Values[report.Perplexity] = nll, math.Exp(nll)
		score = nll
		if c.Decode.ValidationBeam == 0 {
			return nil
		}
		options := t.DecodeOptions()
		options.Beam = c.Decode.ValidationBeam
		outputs, err := t.Translate(t.data.valid.source, options)
		if err != nil {
			return err
		}
		bleu, err := t.tokenisedBLEU(outputs, t.data.valid)
		if err != nil {
			return err
		}
		record.Values[report.BLEU] = bleu.Score
		if c.Train.PatienceOn == "bleu" {
			score = -bleu.Score
		}
		return t.writeSamples(outputs)
	})
	if err != nil {
		return false, err
	}
	if loss := record.Values[report.Loss]; math.IsNaN(loss) || math.IsInf(loss, 0) {
		return false, t.diverged(fmt.Sprintf("the validation loss is not finite after update %d", t.state.Step))
	}
	better = t.state.Best == nil || score < *t.state.Best
	if better {
		t.state.Best, t.state.BestStep, t.state.Stalled, t.state.Plateau = &score, t.state.Step, 0, 0
	} else {
		t.state.Stalled++
		t.state.Plateau++
		if c.Schedule.PlateauDecay < 1 && t.state.Plateau >= c.Schedule.PlateauPatience {
			t.state.Factor *= c.Schedule.PlateauDecay
			t.state.Plateau = 0
			t.run.Log.Printf("validation stalls: the learning rate is multiplied by %g", c.Schedule.PlateauDecay)
		}
	}
	line := fmt.Sprintf("valid: update %d, epoch %.2f, loss %.4f, ppl %.2f", t.state.Step, record.Epoch, record.Values[report.Loss], record.Values[report.Perplexity])
	if bleu, measured := record.Values[report.BLEU]; measured {
		line += fmt.Sprintf(", BLEU %.2f", bleu)
	}
	switch {
	case better:
		line += ", new best"
	case c.Train.Patience > 0:
		line += fmt.Sprintf(", stalled %d of %d", t.state.Stalled, c.Train.Patience)
	}
	t.run.Log.Printf("%s", line)
	if c.Train.Patience > 0 && t.state.Stalled >= c.Train.Patience {
		t.state.Stopped = fmt.Sprintf("no better validation in %d tries", t.state.Stalled)
		t.run.Log.Printf("stopping early: %s; the best was at update %d", t.state.Stopped, t.state.BestStep)
	}
	return better, t.write(record)
}

// tokenisedBLEU is multi-bleu on the text that the model was trained on.
func (t *trainer) tokenisedBLEU(outputs []translator.Translation, s split) (score.MultiBLEUResult, error) {
	hypotheses, references := make([]string, len(outputs)), make([]string, len(outputs))
	for i, o := range outputs {
		hypotheses[i] = o.Tokenised
		references[i] = t.Text.Target.Tokenize(s.target[i])
	}
	return score.MultiBLEU(hypotheses, [][]string{references}, false)
}

// writeSamples keeps some translations of the validation text.
func (t *trainer) writeSamples(outputs []translator.Translation) error {
	n := min(t.config.Report.Samples, len(outputs))
	if n == 0 {
		return nil
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "source\t%s\nreference\t%s\noutput\t%s\n\n", t.data.valid.source[i], t.data.valid.target[i], outputs[i].Text)
	}
	return experiment.WriteFile(t.run.Path(experiment.SamplesDir, fmt.Sprintf("step-%d.txt", t.state.Step)), []byte(b.String()))
}

// measure records the isotropy of the output matrix.
func (t *trainer) measure() error {
	m, cosines := t.measures()
	record := t.record(report.SplitOutput)
	record.Values["i1"], record.Values["i2"], record.Values["mean_cosine"] = m.I1, m.I2, m.MeanCosine
	record.Values["frobenius"], record.Values["sigma_ratio"] = m.Frobenius, m.SigmaRatio
	record.Values["effective_rank"] = m.EffectiveRank
	for name, x := range t.Output.Report() {
		record.Values[name] = x
	}
	record.Lists = map[string][]float64{report.SingularValues: m.SingularValues, report.CosineHistogram: cosines}
	t.run.Log.Printf("output matrix: singular values %.3g to %.3g, I1 %.3f, I2 %.4f, mean cosine %.4f", m.SingularValues[0], m.SingularValues[len(m.SingularValues)-1], m.I1, m.I2, m.MeanCosine)
	return t.write(record)
}

func (t *trainer) measures() (m objectives.Measures, cosines []float64) {
	scope := torch.OpenScope()
	defer scope.Close()
	torch.NoGrad(func() {
		w := t.Output.Embedding().Matrix()
		m = objectives.Measure(w)
		cosines = objectives.CosineHistogram(w)
	})
	return m, cosines
}

// testScores are the scores of one test text, with the configured beam.
func (t *trainer) testScores(s split) (experiment.TestScores, error) {
	out := experiment.TestScores{}
	longest := t.config.Model.MaxPositions - 1
	pairs, _, err := corpus.Filter(corpus.Encode(s.source, s.target, t.Text.Source.Encode, t.Text.Target.Encode), corpus.Limits{MaxLength: longest})
	if err != nil {
		return out, fmt.Errorf("test text %s: %w", s.name, err)
	}
	nll := t.nll(pairs)
	out.NLL, out.PPL = experiment.Num(nll), experiment.Num(math.Exp(nll))
	outputs, err := t.Translate(s.source, t.DecodeOptions())
	if err != nil {
		return out, err
	}
	raw := make([]string, len(outputs))
	for i, o := range outputs {
		raw[i] = o.Text
	}
	references := [][]string{s.target}
	bleu, err := score.BLEU(raw, references, score.BLEUOptions{Lowercase: t.config.Data.Lowercase})
	if err != nil {
		return out, err
	}
	tokenised, err := t.tokenisedBLEU(outputs, s)
	if err != nil {
		return out, err
	}
	chrf, err := score.CHRF(raw, references, score.CHRFOptions{Lowercase: t.config.Data.Lowercase})
	if err != nil {
		return out, err
	}
	out.BLEU, out.BLEUSignature = experiment.Num(bleu.Score), experiment.Text(bleu.Signature())
	out.BLEUTok, out.ChrF = experiment.Num(tokenised.Score), experiment.Num(chrf.Score)
	t.run.Log.Printf("test %s: BLEU %.2f (%s), tokenised BLEU %.2f, chrF %.2f, ppl %.2f; %s", s.name, bleu.Score, bleu.Signature(), tokenised.Score, chrf.Score, math.Exp(nll), t.decodeWords())
	if t.samples == nil {
		for i := range min(t.config.Report.Samples, len(raw)) {
			t.samples = append(t.samples, report.Sample{Source: s.source[i], Reference: s.target[i], Output: raw[i]})
		}
	}
	text := strings.Join(raw, "\n") + "\n"
	return out, experiment.WriteFile(t.run.Path(experiment.SamplesDir, filepath.Base(s.name)+"."+t.config.Data.Target), []byte(text))
}

// decodeWords names the settings that a BLEU depends on.
func (t *trainer) decodeWords() string {
	d := t.config.Decode
	return fmt.Sprintf("beam %d, %s length penalty %g", d.Beam, d.LengthPenalty, d.LenPen)
}
