// Package sample generates the corpora that Aperture trains on where no corpus is
// given: parallel text of an artificial language pair, and an artificial text
// for language models. Everything follows from a seed.
//
// # Basics
//
// Translation draws meanings from one grammar and says each in two languages.
// The source language is terse: fixed order (subject, verb, object, place,
// time), no gender, no case, and phrasal verbs. The target language is
// inflected, and a translator has to learn from examples
//
//   - three genders and four cases, visible on determiners, adjectives, relative
//     pronouns and some nouns, in a strong and a weak declension;
//   - verbs that agree with their subject, a fifth of them with a past stem of
//     its own;
//   - reordering: the finite verb stands second, first in questions and last in
//     subordinate clauses; infinitives and separable prefixes close the clause;
//     places come before objects, and a quarter of the adjectives after the noun;
//   - words whose sense depends on another word: verbs on the class of their
//     object, nouns on their preposition, prepositions' case on the verb;
//   - compounds: two source words become one target word, most of them rare;
//   - word frequencies after Zipf's law, with names and digits that are copied.
//
// Text is the target language alone, tokenised and lower-cased as language
// models want it: the target language is the one with agreement to learn.
//
//	train, valid, test := sample.Translation(1, 10000, 500, 500)
//
// # Caveats
//
// The seed chooses the words too, so that texts of two seeds are in two different
// languages. Runs that are to be compared need the same data.sample_seed, whatever
// their own seeds are.
//
// Parallel text is raw: capitals at the start, punctuation attached, some letters
// outside ASCII. It needs the same tokenisation as a natural corpus.
package sample
