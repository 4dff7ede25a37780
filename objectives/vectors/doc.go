// Package vectors makes tables of target vectors for continuous methods: one unit vector for
// each symbol of a vocabulary, read from a file or made from the training text.
//
// # Basics
//
//	table, err := vectors.Open("wiki.de.vec", target.Vocabulary)            // or
//	table, err := vectors.Build(sentences, target.Vocabulary, options, seed)
//	target.Vocabulary, table = table.Cover(target.Vocabulary)
//
// Padding and <s> have rows of zeros, which no search returns. <unk> has the mean of the
// vectors that the vocabulary has no word for; where the table was made from text, its own.
// Cover leaves out the words that have no vector: they become <unk>, as in the paper
// (Kumar and Tsvetkov 2019).
//
// # Caveats
//
// The vector of </s> decides when a sentence ends. The published code has the constant
// 1/sqrt(M) in every place, which layer normalisation takes out of everything: after it no
// state would come near. So the constant changes its sign from place to place here. Where a
// file has a vector of </s>, that one counts: the files of word2vec and fastText do, trained on
// line ends. Table.End says which it was; Table.Nearest shows what it stands close to.
//
// Build keeps the co-occurrences of the text in memory, some 40 bytes for each pair of
// words that meet: a corpus of many millions of sentences wants a file.
package vectors
