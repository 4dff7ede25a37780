package sample

// Split is parallel text: Target[i] is the translation of Source[i]. Lines are
// raw, one sentence each: cased, not tokenised, without a line end.
type Split struct {
	Source, Target []string
}

// Sentences have between minWords and maxWords source words.
const minWords, maxWords = 5, 14

// Translation generates parallel text of an artificial language pair with so
// many sentence pairs in each split. It depends on the arguments alone; no
// source sentence occurs twice, within a split or between splits. The test text
// of a seed does not change with the size of the others, nor the validation
// text with that of the training text.
func Translation(seed uint64, trainPairs, validPairs, testPairs int) (train, valid, test Split) {
	words, seen := newLexicon(seed), map[string]bool{}
	test = translationSplit(words, seed, "test", testPairs, seen)
	valid = translationSplit(words, seed, "valid", validPairs, seen)
	train = translationSplit(words, seed, "train", trainPairs, seen)
	return train, valid, test
}

func translationSplit(words *lexicon, seed uint64, name string, pairs int, seen map[string]bool) Split {
	s := &speaker{lexicon: words, rng: newStream(seed, "translation "+name)}
	var out Split
	for len(out.Source) < pairs {
		source, target := s.pair()
		if text := source.raw(); !seen[text] {
			seen[text] = true
			out.Source = append(out.Source, text)
			out.Target = append(out.Target, target.raw())
		}
	}
	return out
}

// pair draws a sentence of a usual length and says it in both languages.
func (s *speaker) pair() (source, target *line) {
	for {
		meaning := s.sentence()
		source = s.lexicon.source(meaning)
		if n := source.length(); n >= minWords && n <= maxWords {
			return source, s.target(meaning)
		}
	}
}
