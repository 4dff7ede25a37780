package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// trainer holds what a run trains, and where it stands.
type trainer struct {
	network
	task    task
	updates updates
	config  experiment.Config
	run     *experiment.Run
	store   checkpoint.Store
	metrics *report.Metrics
	events  *report.Events

	adam    *torch.Adam              // nil with sgd
	asgd    *torch.ASGD              // nil before averaging begins
	ema     []torch.Tensor           // exponential moving average of the parameters, or nil
	mean    []torch.Tensor           // mean of the last checkpoints, while it is being saved
	dropout *torch.Stream            // of the network
	streams map[string]*torch.Stream // by name, for the checkpoint
	sums    []torch.Tensor           // of the losses of an update's batches so far, as they train and clean
	state   State
	peers   *parallel.Peers // nil for a process by itself
	sync    *parallel.Sync  // of their updates

	began     time.Time // when this process began its first update
	beganStep int       // the updates made before
	meanBLEU  *float64  // of the validation text, by the mean of the last checkpoints where that is the best, or nil
}

// firstLine is how many updates of a process pass at most before the log says how training goes.
const firstLine = 10

// loop trains until the configured length, until validation has stalled for too long, or until ctx is cancelled.
func (t *trainer) loop(ctx context.Context) error {
	if t.state.Mean && !t.done() { // a run that is made longer forgets the mean that only its former end asked for
		t.state.Mean = false
		if err := t.save(); err != nil {
			return err
		}
	}
	for !t.done() {
		update, err := t.updates.Next()
		if err != nil {
			return err
		}
		start := time.Now()
		tokens := 0
		for i, batch := range update.Batches {
			step := torch.OpenScope() // owns every tensor made below
			t.sync.Batch(update, i)
			loss, nll := t.learn(batch, t.scale(update))
			t.sums = append(t.sums, loss, nll)
			tokens += batch.Size()
			torch.Keep(t.sums...)
			step.Close()
		}
		stop, err := t.join(ctx, update, tokens)
		if err != nil {
			return err
		}
		if err := t.update(update); err != nil {
			return err
		}
		spent := time.Since(start).Seconds()
		t.state.Seconds += spent
		t.state.Window.Seconds += spent
		t.state.Tokens += int64(update.Tokens)
		t.state.Step++
		t.state.Position = update.Position
		if err := t.after(stop); err != nil {
			return err
		}
	}
	return nil
}

// learn adds a batch's gradients to those of the parameters. It returns the loss, by scale, and the clean one, both
// summed.
func (t *trainer) learn(batch models.Batch, scale float64) (loss, nll torch.Tensor) {
	var states torch.States
	torch.Autocast(t.config.Train.Precision == "bfloat16", t.Device, func() {
		var targets torch.Tensor
		states, targets = batch.Forward(t.dropout)
		loss, nll = t.Output.Loss(states, targets, scale)
		if extra := states.Extra(); extra.Defined() {
			loss = loss.Add(extra)
		}
	})
	states.Backward(loss)
	return loss.Detach(), nll.Sum()
}

// join makes the gradients, and the numbers, those of all processes' batches. stop is the signal that a process got. A
// process by itself leaves its sums on the device, for update to read.
func (t *trainer) join(ctx context.Context, u models.Update, tokens int) (stop int, err error) {
	w := &t.state.Window
	if t.peers == nil {
		w.Tokens += tokens
		return command.Stopped(ctx), nil
	}
	var mine window // of rank 0, all so far
	if t.peers.First() {
		mine = *w
	}
	mine.add(torch.Numbers(t.sums...))
	t.freeSums()
	sum, stop, err := t.sync.Finish(u, command.Stopped(ctx), mine.Loss, mine.NLL, float64(mine.Tokens+tokens))
	if bad := new(parallel.NotFinite); errors.As(err, &bad) {
		return 0, t.diverged(fmt.Sprintf("the loss of %s is not finite at update %d", bad.Process, t.state.Step+1))
	}
	if err != nil {
		return stop, err
	}
	w.Loss, w.NLL, w.Tokens = sum[0], sum[1], int(sum[2])
	return stop, t.peers.Sum(t.Output.Shared()...)
}

func (t *trainer) freeSums() {
	torch.Free(t.sums...)
	t.sums = t.sums[:0]
}

func (t *trainer) rehearse() {
	scope := torch.OpenScope()
	defer scope.Close()
	states, targets := t.updates.Rehearse(t.dropout)
	t.Output.Loss(states, targets, 0)
}

// scale is the factor of an update's summed loss.
func (t *trainer) scale(u models.Update) float64 {
	if t.config.Train.Normalise == "sentences" {
		return 1 / float64(u.Sentences)
	}
	return 1 / float64(u.Tokens)
}

func (t *trainer) update(u models.Update) error {
	scope := torch.OpenScope()
	defer scope.Close()
	params := t.Params.Tensors()
	t.Output.Penalize()
	norms := t.Output.ClipGrad(params, t.config.Train.ClipNorm)
	// The one place of an update where the host waits for a device.
	values := torch.Numbers(append(norms, t.sums...)...)
	norm := objectives.JointNorm(values[:len(norms)])
	t.state.Window.add(values[len(norms):])
	t.freeSums()
	if !finite(norm) || !finite(t.state.Window.Loss) {
		return t.diverged(fmt.Sprintf("the loss or its gradient is not finite at update %d", t.state.Step+1))
	}
	t.state.Window.Norm += norm
	t.state.Window.Updates++
	rate := t.rate() * u.Rate
	switch {
	case t.adam != nil:
		t.adam.Step(rate)
	case t.asgd != nil:
		t.asgd.Step(rate)
	default:
		torch.SGD(params, rate, t.config.Train.WeightDecay)
	}
	torch.ZeroGrad(params)
	t.Output.Constrain(rate)
	if t.asgd != nil {
		t.asgd.Average()
	}
	if t.ema != nil {
		torch.Lerp(t.ema, params, 1-t.config.Train.EMADecay)
	}
	return nil
}

func (t *trainer) rate() float64 {
	c := t.config
	return t.state.Factor * models.Rate(c.Schedule, c.Train.LearningRate, c.Model.Width, t.length(), t.state.Step)
}

// diverged says what has become infinite or no number, and which checkpoint is the last good one: weights are good when
// an update has been made from them, so that those of the present step are not. Nothing is saved over it.
func (t *trainer) diverged(what string) error {
	last := "there is no good checkpoint before it"
	steps, _ := t.store.Steps()
	if i := slices.IndexFunc(steps, func(step int) bool { return step < t.state.Step }); i >= 0 {
		last = fmt.Sprintf("the last good checkpoint is step-%d", steps[i])
	}
	rate, clip := "train.learning_rate", "set train.clip_norm"
	if t.config.Schedule.Kind == "noam" {
		rate = "schedule.factor"
	}
	if x := t.config.Train.ClipNorm; x > 0 {
		clip = fmt.Sprintf("lower train.clip_norm (%g)", x)
	}
	return t.peers.Alike(fmt.Errorf("%s (%s): lower %s, raise schedule.warmup or %s, and start again in another -out", what,
		last, rate, clip))
}

// after does what is due once an update is made: log, validate, save, stop.
func (t *trainer) after(stop int) error {
	c := t.config
	step := t.state.Step
	t.run.Log.Bar(int64(step), t.state.Window.mean(), t.state.Window.speed(), t.left())
	validate := t.validates(step) || t.done()
	measure := validate && c.Report.Every == 0 || c.Report.Every > 0 && step%c.Report.Every == 0
	due := step%c.Train.LogEvery == 0 || t.done()
	if due || step == t.beganStep+firstLine && c.Train.LogEvery > firstLine {
		if err := t.logTraining(due); err != nil {
			return err
		}
	}
	if measure {
		if err := t.measure(); err != nil {
			return err
		}
	}
	better := false
	if validate {
		if !t.validates(step) {
			before := t.state.Progress
			t.state.Before = &before
		}
		var err error
		if better, err = t.validate(); err != nil {
			return err
		}
	}
	if t.scheduled(step) || better || stop != 0 || t.done() {
		err := t.save()
		if err == nil && better {
			err = t.store.MarkBest(step)
		}
		if err != nil {
			return err
		}
	}
	if stop != 0 {
		t.run.Log.Printf("stopped by a signal after update %d; step-%d is saved: continue with -resume", step, step)
		return command.StoppedBy(stop)
	}
	return nil
}

// validates reports whether validation is due after an update. The step tells the ends of epochs.
func (t *trainer) validates(step int) bool {
	if n := t.config.Train.ValidateEvery; n > 0 {
		return step%n == 0
	}
	for epoch := 1; ; epoch++ {
		if end := t.updates.Count(epoch); end >= step {
			return end == step
		}
	}
}

// scheduled reports whether a checkpoint is due after an update whatever happens then. Others, of a signal, of the end
// of training or of a better score, pass: they neither enter the average of the last checkpoints nor take the place of
// one that does, or a run that was stopped would not give the results of an undisturbed one.
func (t *trainer) scheduled(step int) bool {
	if step == 0 {
		return false // the weights that the run starts from
	}
	if n := t.config.Checkpoint.Every; n > 0 {
		return step%n == 0
	}
	return t.validates(step)
}

func (t *trainer) done() bool {
	c := t.config.Train
	ended := c.Steps > 0 && t.state.Step >= c.Steps || c.Epochs > 0 && t.state.Position.Epoch >= c.Epochs
	return ended || t.state.Stopped != ""
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// total is the number of updates that the run will make if nothing stops it, or 0 when that is open.
func (t *trainer) total() int {
	length := t.length()
	if steps := t.config.Train.Steps; steps > 0 && steps < length {
		return steps
	}
	return length
}

// length is the number of updates that schedules span: where epochs are given fewer steps only cut the run short.
func (t *trainer) length() int {
	c := t.config.Train
	if c.Epochs == 0 {
		return c.Steps
	}
	return t.updates.Count(c.Epochs)
}

// add counts the batches of an update by the sums of their losses, two numbers for each.
func (w *window) add(sums []float64) {
	for i := 0; i < len(sums); i += 2 {
		w.Loss += sums[i]
		w.NLL += sums[i+1]
	}
}

// mean is the clean loss in nats per target token.
func (w *window) mean() float64 { return w.NLL / float64(max(1, w.Tokens)) }

func (w *window) speed() float64 { return float64(w.Tokens) / math.Max(w.Seconds, 1e-9) }
