// Package decode finds translations: greedy and beam search over a decoder that
// goes word by word, and scores of given translations.
//
// # Basics
//
//	searcher, err := decode.New(model, scorer, options)
//	defer searcher.Free()
//	hypotheses, err := searcher.Search(ctx, sources)
//
// [Search] does the three in one call. A source is a list of ids without end of
// sentence, and so is a translation. [Score] gives the log-probability of pairs.
//
// The search is fairseq's: each step takes the 2*beam best continuations of a sentence's hypotheses; a hypothesis is
// finished when its end of sentence is among the best `beam`; a sentence is done with `beam` finished ones, or as soon
// as no unfinished one can get into the translations that are asked for. The other choice are the length penalty and
// the stop rule of GNMT (Wu et al. 2016, section 7). A beam of 1 is greedy search.
//
// [Searcher.SearchConstrained] finds translations that begin with given words and hold given phrases, by the dynamic
// beam allocation of Hu et al. (2019). [Searcher.Attend] says what the words of translations attend to.
//
// A softmax over a matrix is fastest as a [Softmax]: product, softmax and selection are then one operator. Every other
// [Scorer] gives log-probabilities.
//
// [Options].Int8 computes the products of a network that can, and of a [Softmax], with weights of eight bits, made when
// a [Searcher] is prepared. Attention, normalisation and sums stay in float32.
//
// [Options].Shortlist keeps each translation to a few words, chosen by its source, where most of the time of a large
// vocabulary goes into words that no translation would take.
//
// # Caveats
//
// The length that a translation may have follows from its own sentence, not from the padded length of its batch as in
// fairseq: no result depends on the other sentences. An empty source has the empty translation, with the score 0.
//
// Scores are natural logarithms. All calls belong on the torch thread. Weights
// must not change while a [Searcher] is in use: it keeps them in another layout.
package decode
