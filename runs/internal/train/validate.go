package train

import (
	"fmt"
	"maps"
	"math"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/torch"
)

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
	raw := t.copies()
	t.assign(t.normalised(average))
	defer t.assign(raw)
	return f()
}

// copies are the parameters as they are now, in the scope of the caller.
func (t *trainer) copies() (all []torch.Tensor) {
	for _, p := range t.Params.Tensors() {
		all = append(all, p.Detach().Clone())
	}
	return all
}

func (t *trainer) assign(values []torch.Tensor) {
	for i, p := range t.Params.Tensors() {
		p.Assign(values[i])
	}
}

// validate measures the validation text, and reports whether the score that chooses the best checkpoint is a new best.
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
	if !finite(found.nll) {
		return false, t.diverged(fmt.Sprintf("the validation loss is not finite after update %d", t.state.Step))
	}
	s := &t.state
	better = s.Best == nil || found.score < *s.Best
	if better {
		s.Best, s.BestStep, s.Stalled, s.Plateau = &found.score, s.Step, 0, 0
	} else {
		s.Stalled, s.Plateau = s.Stalled+1, s.Plateau+1
		if c.Schedule.PlateauDecay < 1 && s.Plateau >= c.Schedule.PlateauPatience {
			s.Factor, s.Plateau = s.Factor*c.Schedule.PlateauDecay, 0
			t.run.Log.Printf("validation stalls: the learning rate is multiplied by %g", c.Schedule.PlateauDecay)
		}
	}
	line := fmt.Sprintf("valid: update %d, epoch %.2f, %s", s.Step, record.Epoch, found.words(t.Output))
	switch {
	case better:
		line += ", new best"
	case c.Train.Patience > 0:
		line += fmt.Sprintf(", stalled %d of %d", s.Stalled, c.Train.Patience)
	}
	t.run.Log.Printf("%s", line)
	if c.Train.Patience > 0 && s.Stalled >= c.Train.Patience {
		s.Stopped = fmt.Sprintf("no better validation in %d tries", s.Stalled)
		t.run.Log.Printf("stopping early: %s; the best was at update %d", s.Stopped, s.BestStep)
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
	record.Values = map[string]float64{
		"i1": m.I1, "i2": m.I2, "i1_both_signs": m.I1BothSigns, "i2_both_signs": m.I2BothSigns,
		"mean_cosine": m.MeanCosine,
		"sigma_max":   m.SingularValues[0], "sigma_min": m.SingularValues[len(m.SingularValues)-1],
		"sigma_ratio": m.SigmaRatio, "frobenius": m.Frobenius, "effective_rank": m.EffectiveRank,
		"mean_share": m.MeanShare, "iso_score": m.IsoScore,
	}
	maps.Copy(record.Values, t.Output.Report())
	record.Lists = map[string][]float64{report.SingularValues: m.SingularValues, report.CosineHistogram: cosines}
	t.run.Log.Printf("output matrix: mean cosine %.2f: %s (report.html has more)",
		m.MeanCosine, coneWords(m.MeanCosine))
	return t.write(record)
}

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
