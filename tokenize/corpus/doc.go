// Package corpus turns text files into batches for translation models: reading, filtering, cutting into batches of
// similar length, and handing these to a training loop that can stop at any update and continue from there.
//
// # Basics
//
//	cache := corpus.StoreSettings{}.Cache()
//	name := corpus.PairName{Folder: "data", Name: "train", Source: "en", Target: "de"}
//	text, err := cache.OpenParallel(name, "-train")
//	store, said, err := cache.Encode(corpus.Encoding{Key: key, Text: text, Largest: 36999, Encoders: encoders})
//	defer store.Close()
//	pairs, report, err := corpus.Filter(store, corpus.Limits{MaxLength: 175, MaxRatio: 1.5})
//	options := corpus.Options{BatchSettings: corpus.BatchSettings{MaxTokens: 4096}, Seed: 1}
//	loader, err := corpus.NewLoader(pairs, options, corpus.Position{})
//	defer loader.Close()
//	for {
//		update, err := loader.Next() // the batches of one optimizer step
//		...                          // update.Position goes into the checkpoint
//	}
//
// Both sides of a batch are padded on the right. The source ends in the end-of-sentence word. The decoder's input
// begins with that same word and is the target shifted by one.
//
// The size of a pair is the longer of its sides with the end of sentence; a batch costs its rows times its largest
// size, at most MaxTokens. Pairs are ordered by source length, then target length, ties at random. Unlike fairseq,
// which draws the ties once, each epoch draws them again, so that a sentence shares its batch with others each time.
// The number of batches, and so of updates, is the same in every epoch.
//
// The order of an epoch depends on the seed and its number alone: a Position is two integers, and a resumed run reads
// nothing twice.
//
// Training text is read block by block on all processors (Blocks), encoded once, and kept as a Store: ids of 16 or 32
// bits in a file that is mapped into memory, with a place and two lengths for each pair. Such files lie in a Cache, a
// folder of the user rather than of the data or the run: data may be read-only, and seeds, methods and limits share a
// store. A file is named by a hash of all that it was made from, and is written under another name, synced and renamed.
// Opening it checks size, sums and the places of its pairs, and makes a damaged one anew. Ids are held against the
// vocabulary's size as their pair is read. The sums of text files are remembered with the files' inode, size and times,
// among them the change of status, which no program can set back.
//
// Files may be packed with gzip or Zstandard, and parallel text may be two files or one of two columns (PairName). Sums
// are of what is read, unpacked and by column: one corpus is one store however its files are laid out. HoldOut shares a
// text out between training, validation and tests.
//
// # Caveats
//
// Lines end at a line feed only: tools disagree about Unicode's other line ends, and parallel files would fall out of
// step. One carriage return before the line feed and a byte order mark at the start of a file are dropped.
//
// A List, as validation and test text are, takes about 4 bytes a token and 56 a pair. Of a Store only order takes
// memory of this process: 8 bytes a pair, 12 while an epoch is shuffled, and 4 more after a filter. If another program
// cuts a mapped file short, Filter, NewLoader, Loader.Next and Store.Each return an error; Lengths and At alone end the
// process. Nothing here writes to such a file: files are replaced by rename.
package corpus
