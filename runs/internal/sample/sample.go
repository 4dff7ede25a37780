package sample

import (
	_ "embed"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed translation.toml
var translationPreset string

//go:embed language.toml
var languagePreset string

// Preset is the preset that trains on the sample, as TOML: a small language model, or a small translator.
func Preset(languageModel bool) string {
	if languageModel {
		return languagePreset
	}
	return translationPreset
}

// Split is parallel text: Target[i] is the translation of Source[i]. Lines are raw, one sentence each: cased, not
// tokenised, without a line end.
type Split struct {
	Source, Target []string
}

// Sentences have between minWords and maxWords source words.
const minWords, maxWords = 5, 14

// Translation generates parallel text of an artificial language pair. It depends on the arguments alone; no source
// sentence occurs twice, within a split or between splits. The test text of a seed does not change with the size of
// the others, nor the validation text with that of the training text.
func Translation(seed uint64, trainPairs, validPairs, testPairs int) (train, valid, test Split) {
	words, seen := newLexicon(seed), map[string]bool{}
	draw := func(name string, pairs int) (split Split) {
		s := &speaker{lexicon: words, rng: newStream(seed, "translation "+name)}
		for len(split.Source) < pairs {
			source, target := s.pair()
			if source = raw(source); !seen[source] {
				seen[source] = true
				split.Source, split.Target = append(split.Source, source), append(split.Target, raw(target))
			}
		}
		return split
	}
	test = draw("test", testPairs)
	valid = draw("valid", validPairs)
	return draw("train", trainPairs), valid, test
}

// Text generates an artificial text for language models, one sentence a line, tokenised, in lower case, without an
// end-of-sentence word: the target language of Translation, whose verbs, determiners and adjectives agree over a
// distance. It depends on the arguments alone. Splits are independent draws from one grammar, so a short sentence may
// occur in two of them. The test text of a seed does not change with the size of the others.
func Text(seed uint64, trainLines, validLines, testLines int) (train, valid, test []string) {
	words := newLexicon(seed)
	draw := func(name string, lines int) []string {
		s := &speaker{lexicon: words, rng: newStream(seed, "text "+name)}
		out := make([]string, lines)
		for i := range out {
			_, target := s.pair()
			out[i] = strings.ToLower(target)
		}
		return out
	}
	return draw("train", trainLines), draw("valid", validLines), draw("test", testLines)
}

// pair draws a sentence of a usual length and says it in both languages, with spaces round punctuation.
func (s *speaker) pair() (source, target string) {
	for {
		meaning := s.sentence()
		source = meaning.source()
		if n := len(strings.Fields(raw(source))); n >= minWords && n <= maxWords {
			return source, meaning.target()
		}
	}
}

var attach = strings.NewReplacer(" ,", ",", " .", ".", " ?", "?")

// raw writes a line as people do: punctuation attached to the word before, a capital at the start.
func raw(line string) string { return capital(attach.Replace(line)) }

func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
