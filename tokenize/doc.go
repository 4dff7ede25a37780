// Package tokenize turns text into what models read and back again: Moses tokenising with its companions, byte-pair
// encoding, and vocabularies.
//
// # Basics
//
// The Moses tools give the same bytes as the Perl scripts, the current ones or those of December 2017, for English,
// German and French:
//
//	moses, err := tokenize.NewMoses(tokenize.MosesOptions{Language: "de"})
//	moses.Tokenize("Das ist z.B. der 3. Oktober.")            // "Das ist z.B. der 3. Oktober ."
//	tokenize.NewDetokenizer("de").Detokenize(tokens)
//	tokenize.NewNormalizer("de", tokenize.Moses2017).Normalize(line)
//	truecaser, err := tokenize.TrainTruecaser(tokens, "train.tok.de")
//
// Text goes through the Moses tools, in the order of its recipe:
//
//	normalizer := tokenize.NewNormalizer("de", tokenize.MosesCurrent)
//	moses, err := tokenize.NewMoses(tokenize.MosesOptions{Language: "de"})
//	line = moses.Tokenize(normalizer.Normalize(line))
//	line = tokenize.NewDetokenizer("de").Detokenize(line)     // and back
//
// Byte-pair encoding (Sennrich et al., 2016) writes and reads the files of subword-nmt, and gives the same bytes:
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
// Nothing here opens a file: readers and writers are handed in, with the name that errors should give them.
//
// # Caveats
//
// Lines end at "\n" only. subword-nmt ends them at U+2028, form feeds and more besides when it reads a file, and then
// its lines are no longer ours.
//
// Other languages than English, German and French have no abbreviations of their own here and get the English ones, and
// the Moses rules that serve Finnish, Swedish, Catalan, Somali, Tetun and, in the detokenizer, Czech and Finnish are
// missing. The Penn mode is missing too.
//
// Character classes are those of Unicode 15, while the scripts use those of their Perl: with Perl 5.36 (Unicode 14),
// ten rare letters of Telugu, Tibetan, Kaithi and Latin differ, and code points that Unicode 14 had not assigned.
//
// The scripts garble text that holds their own placeholders (DOTMULTI, THISISPROTECTED000), protected pieces that are
// part of such a word, and lines with more than a thousand pieces; here they come through whole. Protected patterns are
// read as UTF-8. At the end of a text without "\n" the scripts treat the last line differently: the normaliser leaves a
// final ." alone, and the truecaser cuts off a character. Here it is treated like every other line.
//
// For BPE and vocabularies a word is what stands between two spaces. Tabs and no-break spaces are ordinary characters
// of a word.
//
// Learn keeps exact counts. subword-nmt leaves rare pairs out of its tables and can lose some of their counts; it
// counts twice around a symbol that two different merges make within one word; and when it joins pairs, it takes a
// no-break space inside a symbol for a border between symbols. No difference was found on natural text; texts of a
// handful of words that repeat one letter can show one.
//
// Glossaries translate Python's regular expressions to Go's. Look-around, back-references and \b are refused. A group
// inside a glossary does not repeat its text in the output, as it does in subword-nmt.
//
// Any number of goroutines may use a value of a Moses type at once, except a Cleaner or TruecaserCounts. Byte-level
// codes are refused, and so are more than 524,288 merges.
//
// A line that is not UTF-8 is an error that names it, in every reader here.
//
// A BPE must not be used by two goroutines at once; a Vocabulary may.
package tokenize
