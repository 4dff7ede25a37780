// Package vectors makes tables of target vectors, for methods that predict a vector instead of
// scoring a vocabulary: one unit vector for each symbol, read from a file or made from the
// training text.
//
// # Basics
//
//	table, err := vectors.Open("wiki.de.vec", target.Vocabulary)            // or
//	table, err := vectors.Build(sentences, target.Vocabulary, options, seed)
//	target.Vocabulary, table = table.Cover(target.Vocabulary, 0)
//
// Padding and <s> have rows of zeros, which no search returns. In a table from a file, <unk> has
// the mean of the vectors of all words that are not in the vocabulary; in a table from text, the
// vector of <unk> itself. Cover removes the words that have no vector from the vocabulary: they
// become <unk>, as in the paper (Kumar and Tsvetkov 2019).
//
// # Caveats
//
// The vector of </s> decides when a sentence ends. The authors' program gives it the same
// number, 1/sqrt(M), in every component. Layer normalisation removes that direction from its
// output, so that no output could come near this vector; here the sign alternates from
// component to component instead. Where a file has a vector of </s>, that one is used: files of
// word2vec and fastText have one, trained on line ends. Table.End says which it was, and
// Table.Nearest which words are closest to it.
//
// Build keeps the co-occurrences of the text in memory, about 40 bytes for each pair of words
// that occur near each other. For a corpus of many millions of sentences, give a file.
package vectors
