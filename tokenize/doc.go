// Package tokenize turns text into what models read and back again: Moses
// tokenising with its companions, byte-pair encoding, and vocabularies.
//
// # Basics
//
// Byte-pair encoding (Sennrich et al., 2016) writes and reads the files of
// subword-nmt, and gives the same bytes:
//
//	var words tokenize.WordCounts
//	err := words.ReadText(train, "train.de")                  // joint codes: read every language
//	codes, report, err := tokenize.Learn(&words, tokenize.LearnOptions{Merges: 10000})
//	bpe, err := tokenize.NewBPE(codes, tokenize.BPEOptions{})
//	bpe.Line("zwei junge männer")                             // "zwei junge män@@ ner"
//	tokenize.UndoBPE("zwei junge män@@ ner", "@@")            // "zwei junge männer"
//
// A Vocabulary numbers tokens in the order of fairseq:
//
//	v := tokenize.NewVocabulary(units.Map(), tokenize.VocabularyOptions{})
//	ids := append(v.Encode(strings.Fields(line)), tokenize.EOS)
//
// Nothing here opens a file: readers and writers are handed in, with the name
// that errors should give them.
//
// # Caveats
//
// Lines end at "\n" only. subword-nmt ends them at U+2028, form feeds and more
// besides when it reads a file, and then its lines are no longer ours.
//
// A word is what stands between two spaces. Tabs and no-break spaces are ordinary
// characters of a word.
//
// Learn keeps exact counts. subword-nmt parks rare pairs and can lose a part of
// their counts, counts twice around a symbol that two different merges make
// within one word, and takes a no-break space inside a symbol for a border when it
// joins pairs. Real text has not shown a difference; words of one letter
// repeated, among a handful of words, can.
//
// Glossaries translate Python's regular expressions to Go's. Look-around,
// back-references and \b are refused. A group inside a glossary does not repeat
// its text in the output, as it does in subword-nmt.
//
// BPE is for one goroutine; Vocabulary is for any number.
package tokenize
