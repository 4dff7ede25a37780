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
	Units     string `toml:"units" default:"word" choice:"word bytes-bpe" help:"what a language model reads and predicts: the words between white space, or pieces of GPT-2's byte-level byte-pair encoding, which spell any text"`
	Pieces    int    `toml:"pieces" default:"8192" range:"[256,1000000]" help:"size of the vocabulary of pieces to learn from the training text, the 256 bytes among them"`
	Tokenizer string `toml:"tokenizer" path:"folder" resume:"location" help:"folder of the vocab.json and merges.txt of pieces, as GPT-2's, to use instead of learning them"`

	VocabularyOrder string `toml:"vocabulary_order" default:"appearance" choice:"appearance frequency" help:"ids follow the words' first appearance in the texts, or their frequency in the training text, which adaptive softmax wants"`
}

func (s VocabularySettings) ofPieces() bool { return s.Units == "bytes-bpe" }

// TrainSettings are the keys of the section train that belong to language models.
type TrainSettings struct {
	corpus.ColumnSettings
	Stride                    int `toml:"stride" default:"0" range:"[0,100000]" help:"gpt: tokens that each window of bptt tokens scores in validation and tests, its last ones, which see the others; 0 is bptt, windows side by side"`
	models.ActivationSettings `kinds:"awd-lstm qrnn gru"`
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
	case !s.Text.ofPieces() && s.Text.Tokenizer != "":
		return errors.New(`data.tokenizer holds pieces, and data.units = "word": set data.units = "bytes-bpe"`)
	case s.Text.ofPieces() && s.Text.VocabularyOrder == "frequency":
		return errors.New(`data.vocabulary_order = "frequency" is for words: the order of pieces is that of their ` +
			`merges; set it to "appearance", or data.units = "word"`)
	case !k.blocks && s.Train.Stride > 0:
		return fmt.Errorf("train.stride = %d is for gpt, and model.kind = %q carries its context from chunk to chunk: "+
			"leave it out", s.Train.Stride, s.Model.Kind)
	case k.blocks:
		if err := s.checkBlocks(); err != nil {
			return err
		}
	}
	if k.check != nil {
		return k.check(s.Model)
	}
	return nil
}

// checkBlocks is Check of a network that reads each chunk by itself.
func (s Settings) checkBlocks() error {
	t := s.Train
	switch {
	case t.Random:
		return fmt.Errorf("train.bptt_random draws lengths for networks that carry a state, and model.kind = %q reads "+
			"blocks of train.bptt tokens: set it to false", s.Model.Kind)
	case t.BPTT > s.Model.MaxPositions:
		return fmt.Errorf("train.bptt = %d is longer than model.max_positions = %d: lower the one or raise the other",
			t.BPTT, s.Model.MaxPositions)
	case t.Stride > 0 && t.BPTT%t.Stride != 0:
		return fmt.Errorf("train.stride = %d does not divide train.bptt = %d, the length of a window", t.Stride, t.BPTT)
	}
	return nil
}
