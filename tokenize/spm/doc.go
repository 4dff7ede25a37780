// Package spm splits text into the pieces of a SentencePiece model and joins them again (Kudo and Richardson 2018).
//
// # Basics
//
// A model file (.spm, .model) is the one that SentencePiece's trainer writes:
//
//	model, err := spm.Read(file, "source.spm")
//	pieces := model.Encode("Zwei junge Männer.")   // "▁Zwei", "▁junge", "▁Männer", "."
//	text := model.Decode(pieces)                   // "Zwei junge Männer."
//
// Unigram models (Kudo 2018) and BPE models (Sennrich et al. 2016) are read, with their compiled normalisation,
// user-defined symbols and byte fallback. Pieces and texts are, byte by byte, those of the SentencePiece library 0.2.3,
// but for unigram models with user-defined symbols, where it takes one of these in a few lines in which likely pieces
// win here. Releases 0.2.0 and 0.2.1 add the scores of unigram models in another precision, and choose otherwise where
// two ways to split a line are nearly alike.
//
// # Caveats
//
// Models of type word and char, and a normalisation in decoding, are refused. Nothing here trains a model or samples
// segmentations.
//
// A Model does not change: goroutines may share it.
package spm
