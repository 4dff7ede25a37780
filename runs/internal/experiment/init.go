package experiment

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// A run may start from the weights of another one (train.init, -init). Keys with the tag init:"keep" then have that
// run's values, above those of a preset: its network, its tokenizer and vocabulary, and what else its weights belong
// to. One that its method does not read says nothing of its weights, and counts as its default. A user's value that
// differs is refused. The other keys of the output layer, the method among them, are that run's too, unless the user
// gives them or a preset has a method of its own. With the preset below, which is the default for translators, those of
// the network and the search are as well.

//go:embed finetune.toml
var finetuning []byte

// finetunePreset is the preset that trains a translator further, which all runs of translators share. It lies above the
// run's usual one.
const finetunePreset = "finetune"

// presetsBelow lists the presets that a name stands for, the lowest first.
func presetsBelow(name, usual string) []string {
	if name == finetunePreset {
		return []string{usual, name}
	}
	return []string{name}
}

// startFrom lays what is kept of the run in folder over a preset.
func (l *layers) startFrom(s *Spec, folder string) error {
	start, err := ReadConfig(folder)
	if err != nil {
		return fmt.Errorf("-init: %w", err)
	}
	if task := start.Task(); task != s.Task {
		return command.Usagef("-init: %s holds a %s, and runs/%s trains a %s", folder, task.network(), s.Name,
			s.Task.network())
	}
	if err := start.forgetUnread(nil); err != nil { // an earlier version wrote what the preset said
		return err
	}
	l.start = &start
	taken := l.taken()
	for _, k := range schema.Keys() {
		if k.Init == "keep" || slices.Contains(taken, k.Section()) {
			if err := schema.Set(&l.config, k.Name, schema.Value(&start, k)); err != nil {
				return err
			}
			l.origin[k.Name] = folder
		}
	}
	if t := start.Train; l.config.Preset == finetunePreset && t.Optimizer != "sgd" {
		l.config.Train.LearningRate = t.LearningRate
		if start.Preset != finetunePreset { // a second fine-tuning goes on at the first one's rate
			l.config.Train.LearningRate *= gentler
		}
	}
	return nil
}

// forgetOthers gives keys of another task than the network's their defaults. Training reads some of them for any network,
// and config.toml and checkpoints would not hold them.
func (c *Config) forgetOthers() error {
	return c.forget(func(k keys.Key) bool { return !k.Of(string(c.Task())) })
}

// forgetUnread gives keys that say which weights there are, and that the method does not read, their defaults, but for
// those given by hand: headless has no bias, whatever a preset says.
func (c *Config) forgetUnread(byHand map[string]bool) error {
	return c.forget(func(k keys.Key) bool { return k.Init == "keep" && !c.Objective.Reads(k) && !byHand[k.Name] })
}

func (c *Config) forget(which func(keys.Key) bool) error {
	defaults := schema.Defaults()
	for _, k := range schema.Keys() {
		if which(k) {
			if err := schema.Set(c, k.Name, schema.Value(&defaults, k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// gentler is the share of a run's learning rate at which it is trained further. Of 0.07, 0.17 and 0.33 the larger ones
// did better on a small network (docs/finetuning.md); one of width 512 that began with 0.0005 gets 0.0001.
const gentler = 0.2

// taken are the sections of which all keys are taken from the run whose weights the run starts from.
func (l *layers) taken() []string {
	switch {
	case l.config.Preset == finetunePreset:
		return []string{"model", "objective", "decode"}
	case l.origin["objective.method"] == "":
		return []string{"objective"}
	}
	return nil
}

// contradiction refuses what the user set otherwise than it is in the run whose weights the run starts from.
func (l *layers) contradiction(folder string) error {
	for _, k := range schema.Keys() {
		was, is := schema.Value(l.start, k), schema.Value(&l.config, k)
		if k.Init != "keep" || !l.byHand[k.Name] || !k.Of(string(l.start.Task())) || was == is ||
			!l.config.Objective.Reads(k) {
			continue
		}
		if k.Path != "" {
			if path, err := filepath.Abs(schema.Text(&l.config, k)); err == nil && path == schema.Text(l.start, k) {
				continue
			}
		}
		if k.Name == "model.max_positions" && l.start.Model.Positions != "learned" {
			continue // no weight depends on it
		}
		return command.Usagef("%s: %s = %s, and the run in %s has %s: what starts from its weights keeps its network, "+
			"tokenizer and vocabulary; leave the key out", l.origin[k.Name], k.Name, is, folder, was)
	}
	return nil
}
