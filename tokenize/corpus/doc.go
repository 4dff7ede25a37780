// Package corpus turns text files into batches for translation models: reading,
// filtering, cutting into batches of similar length, and handing these to a
// training loop that can stop anywhere and go on from there.
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
// end-of-sentence word; the decoder's input begins with that same word and is
// the target moved by one.
//
// The size of a pair is the longer of its sides with the end of sentence; a
// batch costs its rows times the largest size in it, at most MaxTokens. Pairs are
// ordered by source length, then target length, ties at random. This is
// fairseq's way, with one difference: fairseq draws the ties once and later
// shuffles only the list of batches, while here each epoch draws them anew, so
// that sentences meet other neighbours. The sizes of the batches, and so the
// number of updates, are the same in every epoch.
//
// The order of an epoch is a function of the seed and the epoch's number and of
// nothing else: a Position is two integers, and resuming replays nothing.
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
