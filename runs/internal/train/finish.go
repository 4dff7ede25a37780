package train

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/runs/internal/chart"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/score"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// finish chooses the weights, scores the test texts with them and writes what the run found.
func (t *trainer) finish(ctx context.Context) error {
	if t.config.Train.AverageLast > 1 {
		if err := t.averageLast(); err != nil {
			return err
		}
	}
	best, err := parallel.Best(t.peers, t.store, t.warn)
	if err != nil {
		return err
	}
	if err := models.LoadWeights(t.Params, best); err != nil {
		return err
	}
	var then State
	if err := then.read(best); err != nil {
		return err
	}
	t.run.Log.Printf("testing %s", best.Name())
	nll, err := t.task.validNLL()
	if err != nil {
		return err
	}
	c := t.config
	results := &record.Results{
		Run: c.Run, Method: c.Objective.Method, Preset: c.Preset, Seed: int64(c.Train.Seed),
		Data:         record.ResultsData{Name: c.Data.Name, Synthetic: c.Data.Sample, SHA256: t.task.sums()},
		Params:       t.Params.Count(),
		Updates:      int64(t.state.Step),
		Epochs:       record.Num(t.epoch(t.state)),
		TrainSeconds: record.Num(t.state.Seconds),
		TokensPerS:   record.Num(float64(t.state.Tokens) / t.state.Seconds),
		Test:         map[string]record.TestScores{},
		Vectors:      t.Vectors,
		Postprocess:  record.Text(c.Decode.Rewriting()),
		Checkpoint:   record.Text(best.Name()),
		Best: record.Best{Step: int64(then.Step), Epoch: record.Num(t.epoch(then)),
			Seconds: record.Num(then.Seconds), Loss: record.Num(nll)},
	}
	if results.Files, err = t.run.Files(); err != nil {
		return err
	}
	results.Valid.NLL, results.Valid.PPL = lossNumbers(t.Output, nll)
	results.Valid.AnyUnits = t.task.validUnits(nll)
	tests := t.task.tests()
	if !c.Report.Test {
		tests = nil
	}
	for i, name := range tests {
		if stop, err := t.peers.Any(command.Stopped(ctx)); stop != 0 || err != nil {
			t.run.Log.Printf("stopped by a signal after training: -resume does the testing")
			return cmp.Or(err, command.StoppedBy(stop))
		}
		if results.Test[name], err = t.task.test(i); err != nil {
			return err
		}
	}
	if !t.peers.First() {
		return nil
	}
	m, _ := t.measures()
	results.Isotropy = record.Isotropy{
		I1: record.Num(m.I1), I2: record.Num(m.I2), I1BothSigns: record.Num(m.I1BothSigns),
		I2BothSigns: record.Num(m.I2BothSigns), Frobenius: record.Num(m.Frobenius),
		MeanCosine: record.Num(m.MeanCosine), SigmaRatio: record.Num(m.SigmaRatio),
		MeanShare: record.Num(m.MeanShare), IsoScore: record.Num(m.IsoScore),
	}
	results.SingularValues = record.Nums(m.SingularValues)
	results.Code = t.run.Env.Code
	results.PeakRSSBytes = record.Num(experiment.PeakRSS())
	if t.Device.IsCUDA() {
		results.PeakDeviceBytes = record.Num(torch.PeakDeviceBytes(t.Device))
	}
	records, err := report.ReadRecords(t.run.Path(experiment.MetricsFile))
	if err != nil {
		return err
	}
	bleu := t.validationBLEU(records, then.Step)
	doubt := t.doubt(results, bleu)
	if err := t.draw(results, records, bleu, doubt); err != nil {
		return err
	}
	if err := t.run.WriteResults(results); err != nil {
		return err
	}
	if doubt != "" {
		t.run.Log.Warnf("%s", doubt)
	}
	t.run.Log.Printf("done: %s", t.next())
	return nil
}

// next says where the results are and what to do with the model.
func (t *trainer) next() string {
	said, dir := "results.json in "+t.run.Dir+" has the scores", command.ShellLine(t.run.Dir)
	use := "generate -run " + dir
	if t.config.Report.Plots {
		said = t.run.Path(experiment.ReportFile) + " shows the run"
	}
	if t.config.Task() == experiment.Translation {
		use = fmt.Sprintf("translate -run %s < raw.%s", dir, t.config.Data.Source)
	}
	return fmt.Sprintf("%s; to use the model: go run ./runs/%s", said, use)
}

// averageLast makes the mean of the last checkpoints' weights the average of the newest, and the best where it is no
// worse on the validation text. U, s and V are averaged each by itself, as any parameter, and then made orthonormal
// again.
func (t *trainer) averageLast() error {
	steps, err := t.store.Steps()
	if err != nil {
		return err
	}
	var used []checkpoint.Checkpoint
	for _, step := range steps {
		if len(used) == t.config.Train.AverageLast {
			break
		}
		if step > t.state.Step || step < t.state.Step && !t.scheduled(step) {
			continue
		}
		c, err := t.store.At(step)
		if err != nil {
			t.run.Log.Warnf("left out of the average: %v", err)
			continue
		}
		used = append(used, c)
	}
	if len(used) < 2 {
		t.run.Log.Printf("train.average_last = %d averages nothing: there is one checkpoint; checkpoint.every says "+
			"how often one is made", t.config.Train.AverageLast)
		return nil
	}
	scope := torch.OpenScope()
	defer scope.Close()
	raw := t.copies()
	if err := t.takeMean(used); err != nil {
		return err
	}
	found, err := t.task.validate()
	if err != nil {
		return err
	}
	t.run.Log.Printf("the mean of the last %d checkpoints has validation %s", len(used), found.words(t.Output))
	if t.state.Best != nil && found.score > *t.state.Best {
		return nil
	}
	// The parameters hold the mean now; the checkpoint keeps both.
	t.mean = t.copies()
	defer func() { t.mean = nil }()
	t.assign(raw)
	t.state.Mean = true
	if err := t.save(); err != nil {
		return err
	}
	t.meanBLEU = found.bleu
	return t.store.MarkBest(t.state.Step)
}

// validationBLEU is that of the weights that are tested, which were made at a step; nil where it was not measured.
func (t *trainer) validationBLEU(records []report.Record, step int) *float64 {
	if t.meanBLEU != nil {
		return t.meanBLEU
	}
	for _, r := range records {
		if bleu := r.Value(report.BLEU); r.Split == report.SplitValid && r.Step == int64(step) && !math.IsNaN(bleu) {
			return &bleu
		}
	}
	return nil
}

// doubt says, of a translator that cannot translate yet, how that shows and what to do; empty for others.
func (t *trainer) doubt(r *record.Results, bleu *float64) string {
	var signs []string
	if bleu != nil && *bleu < score.NearZero {
		signs = append(signs, fmt.Sprintf("its validation BLEU is %.2f", *bleu))
	}
	if alike := t.task.alike(); alike != "" {
		signs = append(signs, alike)
	}
	if signs == nil {
		return ""
	}
	return fmt.Sprintf("this model does not translate yet (%s): it needs more training than %d updates (%.3g epochs), "+
		"so raise %s and run again with -resume -out %s; more pairs help too",
		strings.Join(signs, ", and "), r.Updates, r.Epochs.Value(), t.run.Longer(r), command.ShellLine(t.run.Dir))
}

func (t *trainer) takeMean(used []checkpoint.Checkpoint) error {
	for k, c := range used {
		step := torch.OpenScope()
		values, err := models.ReadTensors(c, modelFile, t.Device)
		if err != nil {
			step.Close()
			return err
		}
		var list []torch.Tensor
		for _, name := range t.Params.Names() {
			list = append(list, values[name])
		}
		torch.Lerp(t.Params.Tensors(), list, 1/float64(k+1)) // a running mean; the first takes all
		step.Close()
	}
	t.Output.FixAverage(t.Params.Map())
	return nil
}

func (t *trainer) draw(results *record.Results, records []report.Record, bleu *float64, doubt string) error {
	if !t.config.Report.Plots {
		return nil
	}
	plots := report.Draw(records)
	if err := chart.Save(t.run.Path(experiment.PlotsDir), plots); err != nil {
		return err
	}
	page, err := t.page(results, bleu, doubt)
	if err != nil {
		return err
	}
	page.Plots = plots
	var text bytes.Buffer
	if err := page.Write(&text); err != nil {
		return err
	}
	return files.Write(t.run.Path(experiment.ReportFile), text.Bytes())
}
