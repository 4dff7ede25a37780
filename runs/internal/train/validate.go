package train

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/torch"
)

// average is that of the weights, or nil.
func (t *trainer) average() []torch.Tensor {
	if t.asgd != nil {
		return t.asgd.Averages()
	}
	return t.ema
}

// withAverage runs f on the averaged weights, where there is an average.
func (t *trainer) withAverage(f func() error) error {
	average := t.average()
	if average == nil {
		return f()
	}
	scope := torch.OpenScope()
	defer scope.Close()
	params, average := t.Params.Tensors(), t.normalised(average)
	raw := make([]torch.Tensor, len(params))
	for i, p := range params {
		raw[i] = p.Detach().Clone()
		p.Assign(average[i])
	}
	defer func() {
		for i, p := range params {
			p.Assign(raw[i])
		}
	}()
	return f()
}

// validate measures the validation text, and reports whether the score that chooses the best checkpoint is better than before.
func (t *trainer) validate() (better bool, err error) {
	c := t.config
	record := t.record(report.SplitValid)
	var found validation
	err = t.withAverage(func() error {
		found, err = t.task.validate()
		return err
	})
	if err != nil {
		return false, err
	}
	setLoss(record, t.Output, found.nll)
	if found.bleu != nil {
		record.Values[report.BLEU] = *found.bleu
	}
	if found.samples != "" && t.peers.First() {
		path := t.run.Path(experiment.SamplesDir, fmt.Sprintf("step-%d.txt", t.state.Step))
		if err := files.Write(path, []byte(found.samples)); err != nil {
			return false, err
		}
	}
	if math.IsNaN(found.nll) || math.IsInf(found.nll, 0) {
		return false, t.diverged(fmt.Sprintf("the validation loss is not finite after update %d", t.state.Step))
	}
	better = t.state.Best == nil || found.score < *t.state.Best
	if better {
		t.state.Best, t.state.BestStep, t.state.Stalled, t.state.Plateau = &found.score, t.state.Step, 0, 0
	} else {
		t.state.Stalled++
		t.state.Plateau++
		if c.Schedule.PlateauDecay < 1 && t.state.Plateau >= c.Schedule.PlateauPatience {
			t.state.Factor *= c.Schedule.PlateauDecay
			t.state.Plateau = 0
			t.run.Log.Printf("validation stalls: the learning rate is multiplied by %g", c.Schedule.PlateauDecay)
		}
	}
	line := fmt.Sprintf("valid: update %d, epoch %.2f, %s", t.state.Step, record.Epoch, found.words(t.Output))
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
	if t.validates(t.state.Step) {
		t.considerAveraging(found.nll)
	}
	return better, t.write(record)
}

// measure records the isotropy of the output matrix.
func (t *trainer) measure() error {
	if err := t.peers.Sum(t.Output.Partial()...); err != nil || !t.peers.First() {
		return err
	}
	m, cosines := t.measures()
	record := t.record(report.SplitOutput)
	record.Values["i1"], record.Values["i2"], record.Values["mean_cosine"] = m.I1, m.I2, m.MeanCosine
	record.Values["i1_both_signs"], record.Values["i2_both_signs"] = m.I1BothSigns, m.I2BothSigns
	record.Values["frobenius"], record.Values["sigma_ratio"] = m.Frobenius, m.SigmaRatio
	record.Values["sigma_max"], record.Values["sigma_min"] = m.SingularValues[0], m.SingularValues[len(m.SingularValues)-1]
	record.Values["effective_rank"] = m.EffectiveRank
	for name, x := range t.Output.Report() {
		record.Values[name] = x
	}
	record.Lists = map[string][]float64{report.SingularValues: m.SingularValues, report.CosineHistogram: cosines}
	t.run.Log.Printf("output matrix: mean cosine %.2f: %s (report.html has more)", m.MeanCosine, coneWords(m.MeanCosine))
	return t.write(record)
}

// coneWords says what the mean cosine between the vectors of two words means.
func coneWords(cosine float64) string {
	switch {
	case math.IsNaN(cosine):
		return "it is not known which way word vectors point"
	case cosine >= 0.2:
		return "word vectors crowd in a narrow cone"
	case cosine >= 0.05:
		return "word vectors lean one way"
	}
	return "word vectors point in all directions"
}

func (t *trainer) measures() (m measures.Measures, cosines []float64) {
	scope := torch.OpenScope()
	defer scope.Close()
	torch.NoGrad(func() {
		w := t.Output.Embedding().Matrix()
		m = measures.Measure(w)
		cosines = measures.CosineHistogram(w)
	})
	return m, cosines
}
