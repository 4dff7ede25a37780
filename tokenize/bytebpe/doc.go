// Package bytebpe splits text into the byte-level byte-pair units of GPT-2 and joins them again (Radford et al. 2019).
//
// # Basics
//
// A tokenizer is two files, vocab.json with the ids of units and merges.txt with the merges in their order:
//
//	tokenizer, err := bytebpe.Read(vocabulary, "vocab.json", merges, "merges.txt")
//	ids := tokenizer.Encode("Hello world")   // 15496, 995 with the files of GPT-2
//	text := tokenizer.Decode(ids)            // "Hello world"
//
// New makes one of units and merges that come from elsewhere. Learn makes one from the words of texts, the same as
// Hugging Face's ByteLevelBPETokenizer, and Write writes its files.
//
// Text is cut into words first, by GPT-2's pattern, and each word's bytes are merged. Ids and texts are those of
// Hugging Face's tokenizers with its pre-tokenizer and decoder ByteLevel.
//
// # Caveats
//
// Special tokens such as <|endoftext|> are not looked for: in text they are characters like others. Character classes
// are those of Unicode 15.
//
// A Tokenizer does not change: goroutines may share it.
package bytebpe
