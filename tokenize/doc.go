// Package tokenize turns text into what models read and back again: Moses tokenising with its companions, byte-pair
// encoding, and vocabularies.
//
// # Basics
//
// The Moses tools give the same bytes as the Perl scripts, the current ones or those of December 2017, for English,
// German and French:
//
//	normalizer := tokenize.NewNormalizer("de", tokenize.MosesCurrent)
//	moses, err := tokenize.NewMoses(tokenize.MosesOptions{Language: "de"})
//	line = moses.Tokenize(normalizer.Normalize("Das ist z.B. der 3. Oktober."))  // "Das ist z.B. der 3. Oktober ."
//	line = tokenize.NewDetokenizer("de").Detokenize(line)                        // and back
//	truecaser, err := tokenize.TrainTruecaser(tokens, "train.tok.de")
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
// Nothing here opens a file: readers and writers are handed in, with the name for errors.
//
// # Caveats
//
// Lines end at "\n" only, and must be UTF-8. subword-nmt also ends them at U+2028, form feeds and more.
//
// Languages other than English, German and French get the English abbreviations. The Moses rules for Finnish, Swedish,
// Catalan, Somali, Tetun and, in the detokenizer, Czech and Finnish are missing, and so is the Penn mode.
//
// Character classes are those of Unicode 15, the scripts' those of their Perl: with Perl 5.36 (Unicode 14), ten rare
// letters of Telugu, Tibetan, Kaithi and Latin differ, and code points that Unicode 14 had not assigned.
//
// The scripts garble text that holds their own placeholders (DOTMULTI, THISISPROTECTED000), protected pieces that are
// part of such a word, and lines with more than a thousand pieces; here they come through whole. Of a line where a
// protected piece begins or ends with a space, 256 pieces are protected. Protected patterns are read as UTF-8. The
// scripts treat the last line of a text without "\n" differently: the normaliser leaves a final ." alone, and the
// truecaser cuts off a character. Here it is like every other line.
//
// For BPE and vocabularies a word is what stands between two spaces, with any tabs and no-break spaces.
//
// Learn keeps exact counts. subword-nmt leaves rare pairs out of its tables and can lose counts; it counts twice around
// a symbol that two merges make within one word; and it takes a no-break space inside a symbol for a border. No
// difference was found on natural text; texts of a handful of words that repeat one letter can show one.
//
// Glossaries translate Python's regular expressions to Go's. Look-around, back-references and \b are refused. A group
// inside a glossary does not repeat its text in the output, as it does in subword-nmt. Byte-level codes are refused,
// and so are more than 524,288 merges.
//
// A Vocabulary and the Moses types are safe for concurrent use, but not BPE, Cleaner and TruecaserCounts.
package tokenize
