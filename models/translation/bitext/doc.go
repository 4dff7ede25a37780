// Package bitext is the text of a translator: what its raw lines become on each side, as a run's section data says or
// its tokenizer folder holds it.
//
// # Basics
//
//	sides, err := bitext.OpenSides(settings, filepath.Join(run, bitext.TokenizerFolder))
//	ids := sides.Source.Encode("Two young men.")
//	fmt.Println(sides.Target.Raw(sides.Target.Tokens(ids)))
//
// [Learn] makes codes and vocabularies from raw text, and [Texts] are a whole corpus, whose training text may stay in
// its files. The package is pure Go: nothing here is computed on tensors.
//
// # Caveats
//
// Where the vocabulary is joint, both sides share one. Goroutines that split many words wait for each other, because a
// side's byte-pair encoder keeps one cache of words: [Side.Encoder] makes one of its own.
package bitext
