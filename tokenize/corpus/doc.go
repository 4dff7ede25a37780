// Package corpus turns text files into batches for translation models: reading,
// filtering, cutting into batches of similar length, and handing these to a
// training loop that can stop at any update and continue from there.
//
// # Basics
//
//	source, target, err := corpus.ReadParallel("train.en", "train.de", "-train")
//	pairs := corpus.Encode(source.Lines, target.Lines, encode, encode)
//	pairs, report, err := corpus.Filter(pairs, corpus.Limits{MaxLength: 175, MaxRatio: 1.5})
//	loader, err := corpus.NewLoader(pairs, corpus.Options{MaxTokens: 4096, Seed: 1}, corpus.Position{})
//	defer loader.Close()
//	for {
//		update, err := loader.Next() // the batches of one optimizer step
//		...                          // update.Position goes into the checkpoint
//	}
//
// Both sides of a batch are padded on the right. The source ends in the
// end-of-sentence word. The decoder's input begins with that same word and is
// the target shifted by one.
//
// The size of a pair is the longer of its sides with the end of sentence; a
// batch costs its rows times the largest size in it, at most MaxTokens. Pairs are
// ordered by source length, then target length, ties at random. This is
// fairseq's way, with one difference: fairseq draws the ties once and later
// shuffles only the list of batches, while here each epoch draws them again, so
// that a sentence shares its batch with others each time. The sizes of the batches, and so the
// number of updates, are the same in every epoch.
//
// The order of an epoch depends on the seed and the epoch's number alone. A Position is
// therefore two integers, and a resumed run continues without replaying what it has
// read.
//
// # Caveats
//
// Lines end at a line feed, and only there: other characters that Unicode calls
// line ends stay in the text, because tools disagree about them and parallel
// files would fall out of step. One carriage return before the line feed and a
// byte order mark at the start of a file are dropped.
//
// The corpus is held in memory: about 4 bytes a token, 56 a pair.
package corpus
