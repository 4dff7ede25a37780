// Package decode finds translations: greedy and beam search over a decoder that
// goes word by word, and scores of given translations.
//
// # Basics
//
//	searcher, err := decode.New(model, scorer, options)
//	defer searcher.Free()
//	hypotheses, err := searcher.Search(sources, nil)
//
// [Search] does the three in one call. A source is a list of ids without end of
// sentence, and so is a translation. [Score] gives the log-probability of pairs.
//
// The search is fairseq's, word for word: each step takes the 2*beam best continuations of a sentence's hypotheses; a
// hypothesis is finished when its end of sentence is among the best `beam`; a sentence is done with `beam` finished
// ones. The length penalty and the stop rule of GNMT (Wu et al. 2016, section 7) are the other choice. A sentence is
// also done as soon as no unfinished hypothesis can get into the translations that are asked for; stopping then changes
// none of them. A beam of 1 is greedy search.
//
// A scorer that is a softmax over a matrix is fastest as a [Softmax]: product, softmax and selection are then one
// operator. Every other [Scorer] gives log-probabilities.
//
// [Options].Int8 computes the products of a Transformer, or of a recurrent decoder, and of a [Softmax] with weights of
// eight bits, which are made from those of float32 when a [Searcher] is prepared. Attention, normalisation and sums
// stay in float32, and so does every other scorer. What stands beside a row of a product does not change its result.
//
// # Caveats
//
// The length that a translation may have follows from its own sentence's length, not from the padded length of its
// batch as in fairseq, so that no result depends on the other sentences of a batch.
//
// An empty source has the empty translation, with the score 0.
//
// Scores are natural logarithms. All calls belong on the torch thread. Weights
// must not change while a [Searcher] is in use: it keeps them in another layout.
package decode
