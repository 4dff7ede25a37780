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
	d, m, t := c.Data, c.Model, c.Train
	for _, rule := range []struct {
		broken bool
		say    string
	}{
		{!device.MatchString(t.Device), fmt.Sprintf("train.device = %q is no device: it wants auto, cpu, cuda or cuda:N", t.Device)},
		{d.Source == "" || d.Target == "", "data.source and data.target must name languages"},
		{d.Source == d.Target, fmt.Sprintf("data.source and data.target are both %q: they must differ", d.Source)},
		{!d.Sample && (d.Train == "" || d.Valid == ""), "data.train and data.valid must name texts"},
		{strings.ContainsAny(d.Source+d.Target, "/ \t"), "data.source and data.target are the endings of file names: they hold no slash or space"},
		{d.MaxRatio > 0 && d.MaxRatio < 1, fmt.Sprintf("data.max_ratio = %g would drop every pair: it wants 0 or at least 1", d.MaxRatio)},
		{d.Joint && d.TargetUnits == "word", `data.joint = true shares byte-pair pieces: it wants data.target_units = "bpe"`},
		{d.Joint && !d.JointCodes, "data.joint = true means one list of merges: it wants data.joint_codes = true"},
		{d.Joint && (d.SourceVocabulary == "") != (d.TargetVocabulary == ""), "data.joint = true has one vocabulary: give it as both data.source_vocabulary and data.target_vocabulary, or neither"},
		{m.Width%m.Heads != 0, fmt.Sprintf("model.heads = %d does not divide model.width = %d", m.Heads, m.Width)},
		{m.Positions == "sinusoidal" && m.Width%2 != 0, fmt.Sprintf("model.width = %d is odd: sinusoidal positions want it even", m.Width)},
		{m.Tying == "all" && !d.Joint, `model.tying = "all" shares one matrix between languages: it wants data.joint = true`},
		{t.Steps == 0 && t.Epochs == 0 && t.Patience == 0, "training has no end: set train.steps, train.epochs or train.patience"},
		{t.PatienceOn == "bleu" && c.Decode.ValidationBeam == 0, `train.patience_on = "bleu" needs BLEU in validation: decode.validation_beam is 0`},
		{c.Schedule.Kind == "cosine" && c.Schedule.Period == 0 && t.Steps == 0, `schedule.kind = "cosine" needs its length: set schedule.period or train.steps`},
		{c.Schedule.WarmupInit > t.LearningRate && c.Schedule.Kind != "noam", fmt.Sprintf("schedule.warmup_init = %g is above train.learning_rate = %g", c.Schedule.WarmupInit, t.LearningRate)},
		{c.Schedule.Minimum > t.LearningRate && c.Schedule.Kind != "noam", fmt.Sprintf("schedule.minimum = %g is above train.learning_rate = %g", c.Schedule.Minimum, t.LearningRate)},
		{c.Decode.MaxLengthA == 0 && c.Decode.MaxLengthB == 0, "decode.max_length_a and decode.max_length_b are both 0: every output would be empty"},
	} {
		if rule.broken {
			return fmt.Errorf("%s", rule.say)
		}
	}
	return nil
}
