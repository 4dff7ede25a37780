package translation

import (
	"errors"
	"fmt"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// Settings are what a translator is made of: those keys of a run's configuration that it reads.
type Settings struct {
	Text      bitext.TextSettings `toml:"data"`
	Lines     corpus.LineSettings `toml:"data"`
	Model     models.Settings     `toml:"model"`
	Objective objectives.Settings `toml:"objective"`
	Decode    decode.Options      `toml:"decode" resume:"free"`

	Seed uint64 // of the initial weights
	SGD  bool   // training moves weights by their gradients times a rate
}

var schema = keys.New[Settings]("")

// Defaults are the settings that every key's default makes.
func Defaults() Settings { return schema.Defaults() }

// ReadSettings reads those of a run folder, which must be what its checkpoints were trained with. Keys that are newer
// than the folder have their defaults.
func ReadSettings(folder string) (Settings, error) {
	s, err := schema.ReadFolder(folder)
	if err == nil {
		err = checkpoint.SameRun(schema, &s, "translation", folder)
	}
	return s, err
}

// Check reports the first thing in the settings that makes no translator: the keys that contradict each other.
func (s Settings) Check() error {
	k, err := s.kind()
	d := s.Text
	switch {
	case err != nil:
		return err
	case d.Source == "" || d.Target == "":
		return errors.New("data.source and data.target must name languages")
	case d.Source == d.Target:
		return fmt.Errorf("data.source and data.target are both %q: they must differ", d.Source)
	case !bitext.IsLanguage(d.Source) || !bitext.IsLanguage(d.Target):
		return errors.New("data.source and data.target are the endings of file names: they hold letters, digits and " +
			"._@+- alone")
	case d.Lowercase && d.Truecase:
		return errors.New("data.truecase = true has nothing to do where data.lowercase = true: set one of them to " +
			"false")
	case d.SentencePiece() != (d.TargetUnits == "sentencepiece"):
		return errors.New(`SentencePiece models split both languages or none: set data.source_units and data.target_units to the same`)
	case d.SentencePiece() && (d.Tokenize != "none" || d.Truecase || d.Codes != "" || d.VocabularyThreshold > 0):
		return errors.New(`data.source_units = "sentencepiece" splits raw text: it wants data.tokenize = "none", data.truecase = false, data.vocabulary_threshold = 0 and no data.codes`)
	case d.Joint && d.HasWords():
		return errors.New(`data.joint = true shares byte-pair pieces between the languages: set data.joint = false, or data.source_units = "bpe" and data.target_units = "bpe"`)
	case d.Codes != "" && d.SourceUnits == "word" && d.TargetUnits == "word":
		return errors.New(`data.codes splits words, and data.source_units and data.target_units are both "word": leave it out, or set one of them to "bpe"`)
	case d.Joint && !d.JointCodes:
		return errors.New("data.joint = true means one list of merges: it wants data.joint_codes = true")
	case d.Joint && (d.SourceVocabulary == "") != (d.TargetVocabulary == ""):
		return errors.New("data.joint = true has one vocabulary: give it as both data.source_vocabulary and " +
			"data.target_vocabulary, or neither")
	case d.Joint && d.SourceSize != d.TargetSize:
		return fmt.Errorf("data.joint = true has one vocabulary: data.source_size = %d and data.target_size = %d must "+
			"be the same", d.SourceSize, d.TargetSize)
	case d.SourceVocabulary != "" && d.SourceSize > 0:
		return errors.New("data.source_vocabulary says itself what there is: it wants data.source_size = 0")
	case d.TargetVocabulary != "" && d.TargetSize > 0:
		return errors.New("data.target_vocabulary says itself what there is: it wants data.target_size = 0")
	case s.Model.Tying == "all" && !d.Joint:
		return errors.New(`model.tying = "all" shares one matrix between languages: it wants data.joint = true`)
	case s.Decode.MaxLengthA == 0 && s.Decode.MaxLengthB == 0:
		return errors.New("decode.max_length_a and decode.max_length_b are both 0: every output would be empty")
	}
	return k.check(s.Model)
}
