// Package vectors makes tables of target vectors, for methods that predict a vector instead of scoring a vocabulary:
// one unit vector for each symbol, read from a file or made from the training text.
//
// # Basics
//
//	table, err := vectors.Open("wiki.de.vec", target.Vocabulary)            // or
//	table, err := vectors.Build(sentences, target.Vocabulary, options, seed)
//	target.Vocabulary, table = table.Cover(target.Vocabulary, 0)
//	err = table.Centre(target.Vocabulary)                                   // where that is wanted
//
// Padding and <s> have rows of zeros, which no search returns. In a table from a file, <unk> has the unscaled mean of
// the vectors whose words are not in the vocabulary of Open, of a large file a part of them (see exactBytes): of words
// that the training text lacks, as in the program of Kumar and Tsvetkov (2019); their paper has words that the target
// vocabulary lacks. In a table from text it has the vector of <unk> itself. Cover removes the words that have no vector
// from the vocabulary: they become <unk>. A model of fastText has a vector of n-grams for nearly any word.
//
// open.go tells the formats apart, text.go, word2vec.go and fasttext.go read them into a sink, and pieces.go reads text
// on several processors. collect.go is the sink that makes a Table, list.go the one that keeps everything.
//
// # Caveats
//
// The vector of </s> decides when a sentence ends; the paper does not say what it is. The authors' program takes the
// file's own, which files of word2vec and fastText have, trained on line ends, and for a file without one the same
// number, 1/sqrt(M), in every component. So does this package, but for the constant's sign, which alternates from
// component to component: layer normalisation removes the direction of equal components from its output, so that no
// output could come near that vector. EndByConstant takes the constant in any case. Table.End says which it was, and
// Table.Nearest which words are closest to it.
//
// Build keeps the co-occurrences of the text in memory, about 40 bytes for each pair of words
// that occur near each other. For a corpus of many millions of sentences, give a file.
package vectors
