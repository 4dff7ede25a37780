package train

import (
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
)

// epoch is the number of passes over the data that a state has made.
func (t *trainer) epoch(s State) float64 {
	whole := s.Position.Epoch
	begin, end := t.updates.Count(whole), t.updates.Count(whole+1)
	return float64(whole) + float64(s.Step-begin)/float64(end-begin)
}

func (t *trainer) record(split string) report.Record {
	return report.Record{Step: int64(t.state.Step), Epoch: t.epoch(t.state), Split: split, Values: map[string]float64{}}
}

func (t *trainer) write(r report.Record) error {
	if !t.peers.First() {
		return nil
	}
	if err := t.metrics.Write(r); err != nil {
		return err
	}
	if t.events == nil {
		return nil
	}
	return t.events.Record(r)
}

// logTraining says how the updates since the last line went; keep makes that a line of metrics.jsonl too, from which
// the next one goes on.
func (t *trainer) logTraining(keep bool) error {
	w := &t.state.Window
	r, updates := t.record(report.SplitTrain), float64(max(1, w.Updates))
	loss, rate, norm, speed := w.mean(), t.rate(), w.Norm/updates, w.speed()
	line := fmt.Sprintf("update %d, epoch %.2f, %s, lr %.3g, grad norm %.3g, %.0f tokens/s",
		r.Step, r.Epoch, lossWords(t.Output, loss), rate, norm, speed)
	if left := t.left(); left != "" {
		line += ", " + left
	}
	t.run.Log.Progressf("%s", line)
	if !keep {
		return nil
	}
	setLoss(r, t.Output, loss)
	r.Values["objective"] = w.Loss / updates
	r.Values[report.LearningRate], r.Values[report.GradientNorm], r.Values[report.TokensPerSecond] = rate, norm, speed
	maps.Copy(r.Values, t.sync.Report())
	t.state.Window = window{}
	return t.write(r)
}

// left says how long training will go on, validation included, at this process's pace; empty where that is not known.
func (t *trainer) left() string {
	made, remaining := t.state.Step-t.beganStep, t.total()-t.state.Step
	if made <= 0 || remaining <= 0 {
		return ""
	}
	pace := time.Since(t.began).Seconds() / float64(made)
	return parallel.Duration(pace*float64(remaining)).String() + " left"
}

func setLoss(r report.Record, o *objectives.Output, loss float64) {
	r.Values[report.Loss] = loss
	if ppl := o.Perplexity(loss); !math.IsNaN(ppl) {
		r.Values[report.Perplexity] = ppl
	}
}

// lossWords is a mean clean loss as the log shows it.
func lossWords(o *objectives.Output, loss float64) string {
	line := fmt.Sprintf("loss %.4f", loss)
	if ppl := o.Perplexity(loss); !math.IsNaN(ppl) {
		line += fmt.Sprintf(", ppl %.2f", ppl)
	}
	return line
}

// words are what a validation found, as the log shows it.
func (v validation) words(o *objectives.Output) string {
	if v.bleu == nil {
		return lossWords(o, v.nll)
	}
	return fmt.Sprintf("%s, BLEU %.2f", lossWords(o, v.nll), *v.bleu)
}

// lossNumbers are a mean clean loss and its perplexity as results.json has them: a distance to a vector is no
// log-likelihood, and a density has no perplexity.
func lossNumbers(o *objectives.Output, loss float64) (nll, ppl record.Number) {
	if o.InNats() {
		nll = record.Num(loss)
	}
	return nll, record.Num(o.Perplexity(loss))
}
