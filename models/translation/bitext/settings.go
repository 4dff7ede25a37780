package bitext

import "regexp"

// TokenizerFolder is the folder of a run that holds codes, vocabularies and target vectors.
const TokenizerFolder = "tokenizer"

// language is what names a language: files end so, and programs that come with an export name it.
var language = regexp.MustCompile(`^[\pL\pN][\pL\pN._@+-]*$`)

// IsLanguage reports whether a text can name a language: a letter or digit, and then these and ._@+- alone.
func IsLanguage(text string) bool { return language.MatchString(text) }

// TextSettings are the keys of the section data that say how raw lines become symbols.
type TextSettings struct {
	Source string `toml:"source" default:"en" help:"language translated from, the ending of its files"`
	Target string `toml:"target" default:"de" help:"language translated into, the ending of its files"`

	TrainPairs int `toml:"train_pairs" default:"0" range:"[0,inf)" init:"free" help:"number of training pairs to use, at equal distances; pieces and vocabularies are learnt from these alone; 0 uses all"`

	Lowercase  bool   `toml:"lowercase" default:"false" help:"lower-case all text; BLEU is then lower-cased as well"`
	Normalize  bool   `toml:"normalize" default:"false" help:"normalise punctuation before tokenising (Moses normalize-punctuation)"`
	OPUS       bool   `toml:"opus_mt" default:"false" help:"prepare raw lines as OPUS-MT does: ASCII in place of full-width punctuation, spaces in place of control characters"`
	Tokenize   string `toml:"tokenize" default:"current" choice:"none 2017 current" help:"edition of the Moses tokenizer; none leaves words as spaces separate them"`
	Aggressive bool   `toml:"aggressive" default:"false" help:"split hyphens as well (Moses tokenizer -a)"`
	Escape     bool   `toml:"escape" default:"true" help:"escape characters special to Moses, such as & and |"`

	Truecase bool `toml:"truecase" default:"false" help:"give sentence starts the usual case of their word, which the training text teaches; translations begin with a capital again"`

	SourceUnits string `toml:"source_units" default:"bpe" choice:"bpe word sentencepiece" help:"what the model reads: byte-pair pieces, whole words, or the pieces of a SentencePiece model, which an imported run has"`
	TargetUnits string `toml:"target_units" default:"bpe" choice:"bpe word sentencepiece" help:"what the model predicts: byte-pair pieces, whole words, or the pieces of a SentencePiece model"`
	Merges      int    `toml:"merges" default:"10000" range:"[0,524288]" help:"byte-pair merges to learn; 0 keeps whole words"`
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

// SentencePiece reports whether SentencePiece models split the text of both languages.
func (d TextSettings) SentencePiece() bool { return d.SourceUnits == "sentencepiece" }
