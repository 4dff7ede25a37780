package sample

// Text generates an artificial text for language models, one sentence a line,
// tokenised, in lower case, without an end-of-sentence word: the target language
// of Translation, whose verbs, determiners and adjectives agree over a distance.
// It depends on the arguments alone. Splits are independent draws from one
// grammar, so that a short sentence may occur in two of them, as in any text.
// The test text of a seed does not change with the size of the others.
func Text(seed uint64, trainLines, validLines, testLines int) (train, valid, test []string) {
	words := newLexicon(seed)
	draw := func(name string, lines int) []string {
		s := &speaker{lexicon: words, rng: newStream(seed, "text "+name)}
		out := make([]string, lines)
		for i := range out {
			_, target := s.pair()
			out[i] = target.tokens()
		}
		return out
	}
	return draw("train", trainLines), draw("valid", validLines), draw("test", testLines)
}
