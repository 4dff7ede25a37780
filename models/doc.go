// Package models holds networks that end at hidden states, a file a network.
//
// # Basics
//
// A model maps a batch of ids to hidden states by row of real tokens; it never
// sees logits, targets or the loss. Embeddings come in through [Embedder], so
// that an output layer may share its matrix. [Transformer] is the
// encoder-decoder of Vaswani et al. (2017) as fairseq computes it, with
// incremental decoding in [Cache]; [Decoder] is the fast form of it, for search.
//
// A [LanguageModel] reads running text in columns, chunk by chunk, and carries its
// state from one to the next as a value of its own ([Carried]). [AWDLSTM] is the
// model of Merity, Keskar and Socher (2018); its [Noise] may change between chunks.
// [QRNN] has quasi-recurrent layers in their place. [TransformerXL] is that of
// Dai et al. (2019); its [XLContext] may change too.
//
// # Caveats
//
// A random stream that is nil means evaluation: no dropout. All calls belong on
// the torch thread, inside a scope. Padding has id 1 and the end of sentence,
// which also starts the decoder's input, has id 2, as in fairseq. Language models
// know no padding.
package models
