package experiment

import (
	"fmt"
	"regexp"
	"strings"
)

var device = regexp.MustCompile(`^(auto|cpu|cuda(:[0-9]+)?)$`)

// Validate reports the first thing in c that cannot be trained: a value out of its key's range, or two keys that
// contradict each other. The sentence names the keys.
func (c *Config) Validate() error {
	for _, k := range keys() {
		if err := k.check(c); err != nil {
			return err
		}
	}
	for _, rule := range append(c.rules(), c.taskRules()...) {
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

// Task is what the network learns.
func (c *Config) Task() Task {
	switch c.Model.Kind {
	case "awd-lstm", "qrnn", "transformer-xl":
		return LanguageModel
	}
	return Translation
}

// rules are those of all tasks.
func (c *Config) rules() []rule {
	d, t := c.Data, c.Train
	return []rule{
		{!device.MatchString(t.Device), fmt.Sprintf("train.device = %q is no device: it wants auto, cpu, cuda or cuda:N", t.Device)},
		{!d.Sample && (d.Train == "" || d.Valid == ""), "data.train and data.valid must name texts"},
		{t.Steps == 0 && t.Epochs == 0 && t.Patience == 0, "training has no end: set train.steps, train.epochs or train.patience"},
		{c.Schedule.Kind == "cosine" && c.Schedule.Period == 0 && t.Steps == 0 && t.Epochs == 0, `schedule.kind = "cosine" needs its length: set schedule.period, train.steps or train.epochs`},
		{c.Schedule.Kind == "step" && c.Schedule.Period == 0, `schedule.kind = "step" needs the update at which the rate falls: set schedule.period`},
		{c.Schedule.WarmupInit > t.LearningRate && c.Schedule.Kind != "noam", fmt.Sprintf("schedule.warmup_init = %g is above train.learning_rate = %g", c.Schedule.WarmupInit, t.LearningRate)},
		{c.Schedule.Minimum > t.LearningRate && c.Schedule.Kind != "noam", fmt.Sprintf("schedule.minimum = %g is above train.learning_rate = %g", c.Schedule.Minimum, t.LearningRate)},
	}
}

// taskRules are those of the configuration's task.
func (c *Config) taskRules() []rule {
	d, m, t := c.Data, c.Model, c.Train
	if c.Task() == LanguageModel {
		return []rule{
			{m.Kind == "transformer-xl" && m.Width%m.Heads != 0, fmt.Sprintf("model.heads = %d does not divide model.width = %d", m.Heads, m.Width)},
			{m.Kind == "transformer-xl" && m.LastHidden != 0, fmt.Sprintf("model.last_hidden = %d: all layers of a transformer-xl are as wide as its embedding; set it to 0", m.LastHidden)},
			{m.Tying == "decoder", `model.tying = "decoder" is a translator's: a language model's input is tied to its output ("all") or not ("none")`},
			{t.Accumulate > t.Columns, fmt.Sprintf("train.accumulate = %d cuts the columns of a batch into that many parts, and there are train.columns = %d of them", t.Accumulate, t.Columns)},
			{t.BPTTRandom && t.BPTTLongest > 0 && t.BPTTLongest < 5, fmt.Sprintf("train.bptt_longest = %d is shorter than the shortest length that is drawn, 5", t.BPTTLongest)},
			{t.ASGD != "none" && t.Optimizer != "sgd", fmt.Sprintf("train.asgd = %q averages plain gradient descent: it wants train.optimizer = \"sgd\"", t.ASGD)},
			{t.ASGD != "none" && (t.EMADecay > 0 || t.AverageLast > 0), "train.asgd keeps an average of its own: it wants train.ema_decay = 0 and train.average_last = 0"},
			{t.ASGD == "epoch" && t.ASGDEpoch == 0, `train.asgd = "epoch" needs train.asgd_epoch of at least 1`},
			{t.ASGD != "none" && t.ValidateEvery > 0, "train.asgd goes by epochs: it wants train.validate_every = 0"},
		}
	}
	return []rule{
		{d.Source == "" || d.Target == "", "data.source and data.target must name languages"},
		{d.Source == d.Target, fmt.Sprintf("data.source and data.target are both %q: they must differ", d.Source)},
		{strings.ContainsAny(d.Source+d.Target, "/ \t"), "data.source and data.target are the endings of file names: they hold no slash or space"},
		{d.MaxRatio > 0 && d.MaxRatio < 1, fmt.Sprintf("data.max_ratio = %g would drop every pair: it wants 0 or at least 1", d.MaxRatio)},
		{d.Joint && d.TargetUnits == "word", `data.joint = true shares byte-pair pieces: it wants data.target_units = "bpe"`},
		{d.Joint && !d.JointCodes, "data.joint = true means one list of merges: it wants data.joint_codes = true"},
		{d.Joint && (d.SourceVocabulary == "") != (d.TargetVocabulary == ""), "data.joint = true has one vocabulary: give it as both data.source_vocabulary and data.target_vocabulary, or neither"},
		{m.Width%m.Heads != 0, fmt.Sprintf("model.heads = %d does not divide model.width = %d", m.Heads, m.Width)},
		{m.Positions == "sinusoidal" && m.Width%2 != 0, fmt.Sprintf("model.width = %d is odd: sinusoidal positions want it even", m.Width)},
		{m.Tying == "all" && !d.Joint, `model.tying = "all" shares one matrix between languages: it wants data.joint = true`},
		{t.PatienceOn == "bleu" && c.Decode.ValidationBeam == 0, `train.patience_on = "bleu" needs BLEU in validation: decode.validation_beam is 0`},
		{c.Decode.MaxLengthA == 0 && c.Decode.MaxLengthB == 0, "decode.max_length_a and decode.max_length_b are both 0: every output would be empty"},
	}
}
