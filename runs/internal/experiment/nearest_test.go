package experiment

import (
	"strings"
	"testing"
)

// Names as other programs have them, and slips, lead to the key that is meant.
func TestNearestKeys(t *testing.T) {
	for name, want := range map[string]string{
		"train.lr": "train.learning_rate", "lr": "train.learning_rate", "train.learn_rate": "train.learning_rate",
		"train.learningrate": "train.learning_rate",
		"train.wd":           "train.weight_decay", "train.clip": "train.clip_norm", "train.maxtok": "train.max_tokens",
		"train.tokens": "train.max_tokens",
		"train.opt":    "train.optimizer", "train.epoch": "train.epochs", "train.warmup_steps": "schedule.warmup",
		"train.warmup":          "schedule.warmup",
		"train.label_smoothing": "objective.label_smoothing", "model.num_heads": "model.heads",
		"model.enc_layers": "model.encoder_layers",
		"model.drop":       "model.dropout", "data.src": "data.source", "decode.beam_size": "decode.beam",
		"decode.length_pen": "decode.length_penalty",
		"report.tb":         "report.tensorboard", "train.acumulate": "train.accumulate",
		"objective.methods": "objective.method", "checkpoint.keep_last": "checkpoint.keep",
	} {
		_, err := schema.Lookup(name)
		if err == nil || !strings.HasSuffix(err.Error(), "did you mean "+want+"?") {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
