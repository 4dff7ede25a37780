// Package vectors makes tables of target vectors, for methods that predict a vector instead of
// scoring a vocabulary: one unit vector for each symbol, read from a file or made from the
// training text.
//
// # Basics
//
//	sum := vectors.Sum("wiki.de.vec")                                       // in the background
//	table, err := vectors.Open("wiki.de.vec", target.Vocabulary)            // or
//	table, err := vectors.Build(sentences, target.Vocabulary, options, seed)
//	table.SHA256, err = sum()
//	target.Vocabulary, table = table.Cover(target.Vocabulary, 0)
//	err = table.Centre(target.Vocabulary)                                   // where that is wanted
//
// Padding and <s> have rows of zeros, which no search returns. In a table from a file, <unk> has
// the mean of the vectors, unscaled, of all words that are not in the vocabulary (of a large file
// a part of them, see exactBytes), which is how the authors' program reads the paper; in a table
// from text, the vector of <unk> itself. Cover removes the words that have no vector from the
// vocabulary: they become <unk>, as in the paper (Kumar and Tsvetkov 2019). A model of fastText has
// a vector of n-grams for nearly any word.
//
// open.go tells the formats apart, text.go, word2vec.go and fasttext.go read them into a sink, and
// pieces.go reads text on several processors. collect.go is the sink that makes a Table, list.go
// the one that keeps everything.
//
// # Caveats
//
// The vector of </s> decides when a sentence ends. The authors' program gives it the same
// number, 1/sqrt(M), in every component. Layer normalisation removes that direction from its
// output, so that no output could come near this vector; here the sign alternates from
// component to component instead. Where a file has a vector of </s>, that one is used: files of
// word2vec and fastText have one, trained on line ends. EndByConstant takes the constant all the same.
// Table.End says which it was, and Table.Nearest which words are closest to it.
//
// Build keeps the co-occurrences of the text in memory, about 40 bytes for each pair of words
// that occur near each other. For a corpus of many millions of sentences, give a file.
package vectors
