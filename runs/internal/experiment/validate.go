package experiment

import (
	"fmt"
	"path/filepath"
	"regexp"
)

// device is what train.device may be; NAME:N is an accelerator that a library registered with libtorch, which is seen
// later.
var device = regexp.MustCompile(`^(auto|cpu|cuda|[a-z]+:[0-9]+)$`)

// Validate reports the first thing in c that cannot be trained: a value out of its key's range, or two keys that
// contradict each other. The sentence names the keys.
func (c *Config) Validate() error {
	if err := schema.Check(c); err != nil {
		return err
	}
	d, t, s, language := c.Data, c.Train, c.Schedule, c.Task() == LanguageModel
	var err error
	if language {
		err = c.Language().Check()
	} else if err = d.Limits.Check(); err == nil {
		err = c.Translation().Check()
	}
	refuse := func(broken bool, format string, args ...any) {
		if broken && err == nil {
			err = fmt.Errorf(format, args...)
		}
	}
	refuse(!device.MatchString(t.Device), "train.device = %q is no device: it wants auto, cpu, cuda or cuda:N",
		t.Device)
	for i, name := range d.Test {
		for _, other := range d.Test[:i] {
			refuse(!language && name != other && filepath.Base(name) == filepath.Base(other), "data.test names %s and %s, whose "+
				"translations would be one file: rename one of the two texts", other, name)
		}
	}
	refuse(d.Train == "" || d.Valid == "", "data.train and data.valid must name texts")
	endless := t.Steps == 0 && t.Epochs == 0
	refuse(endless && t.Patience == 0, "training has no end: set train.steps, train.epochs or train.patience")
	refuse((s.Kind == "cosine" || s.Kind == "linear") && s.Period == 0 && endless,
		"schedule.kind = %q needs its length: set schedule.period, train.steps or train.epochs", s.Kind)
	refuse(s.Kind == "step" && s.Period == 0,
		`schedule.kind = "step" needs the update at which the rate falls: set schedule.period`)
	above := "schedule.%s = %g is above train.learning_rate = %g"
	refuse(s.WarmupInit > t.LearningRate && s.Kind != "noam", above, "warmup_init", s.WarmupInit, t.LearningRate)
	refuse(s.Minimum > t.LearningRate && s.Kind != "noam", above, "minimum", s.Minimum, t.LearningRate)
	refuse(language &&
		t.Batches() > t.Columns, "train.accumulate = %d times train.processes = %d cuts the columns of a batch "+
		"into that many parts, and there are train.columns = %d of them", t.Accumulate, t.Processes, t.Columns)
	averages := language && t.ASGD != "none"
	refuse(averages && t.Optimizer != "sgd", `train.asgd = %q averages SGD: it wants train.optimizer = "sgd"`, t.ASGD)
	refuse(averages && (t.EMADecay > 0 || t.AverageLast > 0),
		"train.asgd keeps an average of its own: it wants train.ema_decay = 0 and train.average_last = 0")
	refuse(averages && t.ASGD == "epoch" &&
		t.ASGDEpoch == 0, `train.asgd = "epoch" needs train.asgd_epoch of at least 1`)
	refuse(averages && t.ASGD == "finetune" && t.Patience > 0,
		`train.asgd = "finetune" ends by train.asgd_patience: it wants train.patience = 0`)
	refuse(averages && t.ValidateEvery > 0, "train.asgd goes by epochs: it wants train.validate_every = 0")
	refuse(!language && t.PatienceOn == "bleu" && c.Decode.ValidationBeam == 0,
		`train.patience_on = "bleu" needs BLEU in validation: decode.validation_beam is 0`)
	method, unknown := c.Objective.Resolve() // the task's check has said what is wrong with it
	refuse(unknown == nil && method.WordTargets && t.Optimizer == "coupled-adam",
		`train.optimizer = %q steps the rows of the output matrix, and the target vectors of %s do not move: it wants `+
			`"adamw"`, t.Optimizer, c.Objective.Method)
	return err
}
