// Package exchange writes trained models in the formats of other programs, and reads theirs. It writes translators as
// folders of CTranslate2, packages of Argos Translate and LibreTranslate, and folders of Hugging Face's transformers;
// GPT-2 as such a folder. It reads translators of transformers and of Marian (Read), and GPT-2 (ReadGPT2).
//
// # Basics
//
//	m := &exchange.Model{Network: ..., Tensors: ..., Source: ..., Target: ...}
//	err := files.WriteFolder(path, func(folder string) error {
//		return exchange.WriteCTranslate2(folder, m, exchange.Options{Quantise: exchange.Int8})
//	})
//
// Tensors have fairseq's names, as in Aperture's checkpoints; the output matrix is one matrix, whatever the method
// made it of. runs/export makes a Model of a run folder.
//
// A writer gives a [*Refusal] where its format cannot hold the model, a reader where Aperture cannot: one sentence that
// names the key of the run or the file, and what would do.
//
// # Caveats
//
// The package is pure Go and writes no file of its own accord: it fills the folder or the writer that it is given.
// Formats and where they were read: the comments of each file, and docs/export.md.
package exchange
