package translation

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Settings are what a translator is made of: those keys of a run's configuration that it reads.
type Settings struct {
	Text      TextSettings        `toml:"data"`
	Lines     corpus.LineSettings `toml:"data"`
	Model     models.Settings     `toml:"model"`
	Objective objectives.Settings `toml:"objective"`
	Decode    decode.Options      `toml:"decode" resume:"free"`

	Seed uint64 // of the initial weights
	SGD  bool   // training moves weights by their gradients times a rate
}

// TextSettings are the keys of the section data that say how raw lines become symbols.
type TextSettings struct {
	Source string `toml:"source" default:"en" help:"language translated from, the ending of its files"`
	Target string `toml:"target" default:"de" help:"language translated into, the ending of its files"`

	TrainPairs int `toml:"train_pairs" default:"0" range:"[0,inf)" help:"number of training pairs to use, at equal distances; pieces and vocabularies are learnt from these alone; 0 uses all"`

	Lowercase  bool   `toml:"lowercase" default:"false" help:"lower-case all text; BLEU is then lower-cased as well"`
	Normalize  bool   `toml:"normalize" default:"false" help:"normalise punctuation before tokenising (Moses normalize-punctuation)"`
	Tokenize   string `toml:"tokenize" default:"current" choice:"none 2017 current" help:"edition of the Moses tokenizer; none leaves words as spaces separate them"`
	Aggressive bool   `toml:"aggressive" default:"false" help:"split hyphens as well (Moses tokenizer -a)"`
	Escape     bool   `toml:"escape" default:"true" help:"escape characters special to Moses, such as & and |"`

	Truecase bool `toml:"truecase" default:"false" help:"give sentence starts the usual case of their word, which the training text teaches; translations begin with a capital again"`

	SourceUnits string `toml:"source_units" default:"bpe" choice:"bpe word" help:"what the model reads: byte-pair pieces or whole words"`
	TargetUnits string `toml:"target_units" default:"bpe" choice:"bpe word" help:"what the model predicts: byte-pair pieces or whole words"`
	Merges      int    `toml:"merges" default:"10000" range:"[0,1000000]" help:"byte-pair merges to learn; 0 keeps whole words"`
	Joint       bool   `toml:"joint" default:"true" help:"one vocabulary and one list of merges for both languages"`
	JointCodes  bool   `toml:"joint_codes" default:"true" help:"one list of merges for both languages even where each has its own vocabulary"`
	Codes       string `toml:"codes" path:"file" resume:"location" help:"file of byte-pair merges to use instead of learning them"`

	SourceVocabulary    string `toml:"source_vocabulary" path:"file" resume:"location" help:"vocabulary file of the source language to use instead of counting"`
	TargetVocabulary    string `toml:"target_vocabulary" path:"file" resume:"location" help:"vocabulary file of the target language to use instead of counting"`
	VocabularyThreshold int    `toml:"vocabulary_threshold" default:"0" range:"[0,inf)" help:"byte-pair pieces seen less often than this in their language are split again; 0 keeps all"`
	MinCount            int    `toml:"min_count" default:"1" range:"[1,inf)" help:"types seen less often than this become the unknown word"`
	SourceSize          int    `toml:"source_size" default:"0" range:"[0,inf)" help:"size of the source vocabulary: the most frequent pieces or words; others become the unknown word; 0 keeps all"`
	TargetSize          int    `toml:"target_size" default:"0" range:"[0,inf)" help:"size of the target vocabulary, chosen alike; where a file gives target vectors, from the words that have one"`

	Lexicon bool `toml:"lexicon" default:"false" help:"align the words of the training text, and learn a lexicon by which decode.replace_unk translates unknown words"`
}

// HasWords reports whether one language's units at least are whole words, which leaves no pieces to share.
func (d TextSettings) HasWords() bool { return d.SourceUnits == "word" || d.TargetUnits == "word" }

var schema = keys.New[Settings]("")

// Defaults are the settings that every key's default makes.
func Defaults() Settings { return schema.Defaults() }

// TokenizerFolder is the folder of a run that holds codes, vocabularies and target vectors.
const TokenizerFolder = "tokenizer"

// ReadSettings reads those of a run folder, which must be what its checkpoints were trained with. Keys that are newer than the
// folder have their defaults.
func ReadSettings(folder string) (Settings, error) {
	s, err := schema.ReadFolder(folder)
	if err == nil {
		err = models.SameRun(schema, &s, "translation", folder)
	}
	return s, err
}

// Check reports the first thing in the settings that makes no translator: the keys that contradict each other.
func (s Settings) Check() error {
	k, err := kindOf(s.Model.Kind)
	d := s.Text
	switch {
	case err != nil:
		return err
	case d.Source == "" || d.Target == "":
		return errors.New("data.source and data.target must name languages")
	case d.Source == d.Target:
		return fmt.Errorf("data.source and data.target are both %q: they must differ", d.Source)
	case strings.ContainsAny(d.Source+d.Target, "/ \t"):
		return errors.New("data.source and data.target are the endings of file names: they hold no slash or space")
	case d.Lowercase && d.Truecase:
		return errors.New("data.truecase = true has nothing to do where data.lowercase = true: set one of them to false")
	case d.Joint && d.HasWords():
		return errors.New(`data.joint = true shares byte-pair pieces between the languages: set data.joint = false, or data.source_units = "bpe" and data.target_units = "bpe"`)
	case d.Codes != "" && d.SourceUnits == "word" && d.TargetUnits == "word":
		return errors.New(`data.codes splits words, and data.source_units and data.target_units are both "word": leave it out, or set one of them to "bpe"`)
	case d.Joint && !d.JointCodes:
		return errors.New("data.joint = true means one list of merges: it wants data.joint_codes = true")
	case d.Joint && (d.SourceVocabulary == "") != (d.TargetVocabulary == ""):
		return errors.New("data.joint = true has one vocabulary: give it as both data.source_vocabulary and data.target_vocabulary, or neither")
	case d.Joint && d.SourceSize != d.TargetSize:
		return fmt.Errorf("data.joint = true has one vocabulary: data.source_size = %d and data.target_size = %d must be the same", d.SourceSize, d.TargetSize)
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
