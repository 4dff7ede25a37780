// Package align finds which words of parallel sentences translate each other, and makes a word lexicon of that.
//
// # Basics
//
//	var c align.Corpus
//	for i := range source {
//		c.Add(strings.Fields(source[i]), strings.Fields(target[i]))
//	}
//	forward := align.Align(&c, align.Recommended())          // a list of links for each pair
//	o := align.Recommended()
//	o.Reverse = true
//	links := make([][]align.Link, c.Len())
//	for i, backward := range align.Align(&c, o) {
//		links[i] = align.GrowDiagFinalAnd(forward[i], backward)
//	}
//	lexicon, err := align.LearnLexicon(&c, links)
//	word, known := lexicon.Word("dog")
//
// The model is IBM model 2 with one parameter for the distance from the diagonal, learnt by expectation maximisation
// with variational Bayes (Dyer, Chahuneau and Smith 2013): fast_align, peculiarities included, which diagonal.go and
// model.go name. Links are written and read as fast_align's and Moses's, "0-0 1-2".
//
// # Caveats
//
// A direction keeps the pairs of words that occur together, about 30 bytes each: 0.2 GiB for 29,000 pairs of short
// sentences, gigabytes for millions.
//
// All processors of GOMAXPROCS take part; the order of every sum is fixed, so that results do not depend on them.
//
// A pair with an empty side has no links and teaches nothing. fast_align lets the words of its other side count for the
// empty word, and an empty source can make its tension undefined.
//
// On Multi30k (29,000 pairs, English and German, lower-cased) all links are fast_align's but one of 349,180 in one
// direction, where two words explain a third equally well and rounding decides.
package align
