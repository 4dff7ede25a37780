// Package models holds networks that end at hidden states, one in each file.
//
// # Basics
//
// A model maps a batch of ids to hidden states, one row for each token that is not padding; it never sees logits,
// targets or the loss. Word vectors come from an [Embedder], so that a model and an output layer may share a matrix.
// [Transformer] is the encoder-decoder of Vaswani et al. (2017) as fairseq computes it, with incremental decoding in
// [Cache]; [Decoder] is the fast form of it, for search. [Attentional] is the recurrent encoder-decoder of Kumar and
// Tsvetkov (2019), as their program has it: LSTMs, general attention and input feeding.
//
// A [LanguageModel] reads running text in columns, chunk by chunk, and carries its state from one to the next as a
// value of its own ([Carried]). [AWDLSTM] is the model of Merity, Keskar and Socher (2018); its rates of dropout may
// change between chunks. [QRNN] has quasi-recurrent layers in their place. [TransformerXL] is that of Dai et al. (2019);
// its [XLContext] may change too.
//
// # Caveats
//
// Where the random stream is nil, the model evaluates: without dropout and noise. All calls belong on the torch thread,
// inside a scope. As in fairseq, padding has id 1, and the end of sentence, with which the decoder's input begins too,
// has id 2. Language models have no padding.
package models
