package train

import (
	"math"

	"github.com/aperture-ml/aperture/runs/internal/report"
)

// epoch is the number of passes over the data that have been made.
func (t *trainer) epoch() float64 {
	whole := t.state.Position.Epoch
	begin, end := t.task.updates(whole), t.task.updates(whole+1)
	return float64(whole) + float64(t.state.Step-begin)/float64(end-begin)
}

func (t *trainer) record(split string) report.Record {
	return report.Record{Step: int64(t.state.Step), Epoch: t.epoch(), Split: split, Values: map[string]float64{}}
}

// write appends a record to metrics.jsonl and to the event file.
func (t *trainer) write(r report.Record) error {
	if err := t.metrics.Write(r); err != nil {
		return err
	}
	if t.events == nil {
		return nil
	}
	return t.events.Record(r)
}

// logTraining sums up the updates since the last line.
func (t *trainer) logTraining() error {
	w := &t.state.Window
	r := t.record(report.SplitTrain)
	r.Values[report.Loss] = w.mean()
	r.Values[report.Perplexity] = math.Exp(w.mean())
	r.Values["objective"] = w.Loss / float64(max(1, w.Updates))
	r.Values[report.LearningRate] = t.rate()
	r.Values[report.TokensPerSecond] = w.speed()
	r.Values[report.GradientNorm] = w.Norm / float64(max(1, w.Updates))
	t.run.Log.Progressf("update %d, epoch %.2f, loss %.4f, ppl %.2f, lr %.3g, grad norm %.3g, %.0f tokens/s", r.Step, r.Epoch,
		r.Values[report.Loss], r.Values[report.Perplexity], r.Values[report.LearningRate], r.Values[report.GradientNorm], r.Values[report.TokensPerSecond])
	*w = window{}
	return t.write(r)
}
