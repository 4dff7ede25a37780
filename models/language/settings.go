package language

import (
	"errors"
	"fmt"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// Settings are what a language model is made of: those keys of a run's configuration that it reads.
type Settings struct {
	Text      VocabularySettings  `toml:"data"`
	Model     models.Settings     `toml:"model"`
	Objective objectives.Settings `toml:"objective"`
	Train     TrainSettings       `toml:"train"`

	Seed uint64 // of the initial weights
	SGD  bool   // training moves weights by their gradients times a rate
}

// VocabularySettings are the keys of the section data that say how text becomes words.
type VocabularySettings struct {
	VocabularyOrder string `toml:"vocabulary_order" default:"appearance" choice:"appearance frequency" help:"ids follow the words' first appearance in the texts, or their frequency in the training text, which adaptive softmax wants"`
}

// TrainSettings are the keys of the section train that belong to language models.
type TrainSettings struct {
	corpus.ColumnSettings
	models.ActivationSettings
}

var schema = keys.New[Settings]("")

// Defaults are the settings that every key's default makes.
func Defaults() Settings { return schema.Defaults() }

// TokenizerFolder is the folder of a run that holds its vocabulary.
const TokenizerFolder = "tokenizer"

// ReadSettings reads those of a run folder, which must be what its checkpoints were trained with. Keys that are newer
// than the folder have their defaults.
func ReadSettings(folder string) (Settings, error) {
	s, err := schema.ReadFolder(folder)
	if err == nil {
		err = checkpoint.SameRun(schema, &s, "language model", folder)
	}
	return s, err
}

// Check reports the first thing in the settings that makes no model: the keys that contradict each other.
func (s Settings) Check() error {
	k, err := s.kind()
	switch {
	case err != nil:
		return err
	case s.Model.Tying == "decoder":
		return errors.New(`model.tying = "decoder" is a translator's: a language model's input is tied to its output ("all") or not ("none")`)
	case s.Train.Random && s.Train.Longest > 0 && s.Train.Longest < 5:
		return fmt.Errorf("train.bptt_longest = %d is shorter than the shortest length that is drawn, 5",
			s.Train.Longest)
	case k.check != nil:
		return k.check(s.Model)
	}
	return nil
}
