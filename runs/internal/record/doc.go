// Package record holds what a training run leaves in its folder, for programs that read it: scores and measures, the
// machine, and where its texts lie. It needs no libtorch.
//
// # Basics
//
//	results, err := record.Read(folder)
//	bleu := results.Test["test_2016_flickr"].BLEU.Value()
//
// # Caveats
//
// A Number may be undefined, and its Value is NaN then: a measure of a matrix of zeros, BLEU of a language model. Files
// of earlier versions lack what was added since.
package record
