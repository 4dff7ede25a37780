package experiment

import (
	"fmt"
	"regexp"
)

// device is what train.device may be; NAME:N is an accelerator that a library registered with libtorch, which is seen later.
var device = regexp.MustCompile(`^(auto|cpu|cuda|[a-z]+:[0-9]+)$`)

// Validate reports the first thing in c that cannot be trained: a value out of its key's range, or two keys that
// contradict each other. The sentence names the keys.
func (c *Config) Validate() error {
	if err := schema.Check(c); err != nil {
		return err
	}
	if err := c.checkTask(); err != nil {
		return err
	}
	for _, rule := range c.rules() {
		if rule.broken {
			return fmt.Errorf("%s", rule.say)
		}
	}
	return nil
}

// rule is what one key demands of another.
type rule struct {
	broken bool
	say    string
}

// checkTask asks the task what it makes of its settings.
func (c *Config) checkTask() error {
	if c.Task() == LanguageModel {
		return c.Language().Check()
	}
	if err := c.Data.Limits.Check(); err != nil {
		return err
	}
	return c.Translation().Check()
}

// rules are those between keys of an experiment; the tasks check their own.
func (c *Config) rules() []rule {
	d, t, language := c.Data, c.Train, c.Task() == LanguageModel
	return []rule{
		{!device.MatchString(t.Device), fmt.Sprintf("train.device = %q is no device: it wants auto, cpu, cuda or cuda:N", t.Device)},
		{!d.Sample && (d.Train == "" || d.Valid == ""), "data.train and data.valid must name texts"},
		{t.Steps == 0 && t.Epochs == 0 && t.Patience == 0, "training has no end: set train.steps, train.epochs or train.patience"},
		{c.Schedule.Kind == "cosine" && c.Schedule.Period == 0 && t.Steps == 0 && t.Epochs == 0, `schedule.kind = "cosine" needs its length: set schedule.period, train.steps or train.epochs`},
		{c.Schedule.Kind == "step" && c.Schedule.Period == 0, `schedule.kind = "step" needs the update at which the rate falls: set schedule.period`},
		{c.Schedule.WarmupInit > t.LearningRate && c.Schedule.Kind != "noam", fmt.Sprintf("schedule.warmup_init = %g is above train.learning_rate = %g", c.Schedule.WarmupInit, t.LearningRate)},
		{c.Schedule.Minimum > t.LearningRate && c.Schedule.Kind != "noam", fmt.Sprintf("schedule.minimum = %g is above train.learning_rate = %g", c.Schedule.Minimum, t.LearningRate)},
		{language && t.Batches() > t.Columns, fmt.Sprintf("train.accumulate = %d times train.processes = %d cuts the columns of a batch into that many parts, and there are train.columns = %d of them", t.Accumulate, t.Processes, t.Columns)},
		{language && t.ASGD != "none" && t.Optimizer != "sgd", fmt.Sprintf("train.asgd = %q averages SGD: it wants train.optimizer = \"sgd\"", t.ASGD)},
		{language && t.ASGD != "none" && (t.EMADecay > 0 || t.AverageLast > 0), "train.asgd keeps an average of its own: it wants train.ema_decay = 0 and train.average_last = 0"},
		{language && t.ASGD == "epoch" && t.ASGDEpoch == 0, `train.asgd = "epoch" needs train.asgd_epoch of at least 1`},
		{language && t.ASGD != "none" && t.ValidateEvery > 0, "train.asgd goes by epochs: it wants train.validate_every = 0"},
		{!language && t.PatienceOn == "bleu" && c.Decode.ValidationBeam == 0, `train.patience_on = "bleu" needs BLEU in validation: decode.validation_beam is 0`},
	}
}
