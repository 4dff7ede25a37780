// Command bench compares Aperture's speed and memory with those of the plain programs that a
// careful user would write or install. It runs the two in turn on this machine and prints the
// ratios.
//
// # Basics
//
//	go run ./runs/bench -what text
//	go run ./runs/bench -what translation -json speed.json
//	go run ./runs/bench -what objectives -only method -pairs 15
//	go run ./runs/bench -what layers -only ^layers
//
// A row is one piece of work, done alternately by us and by a peer (A B A B ...)
// after both have warmed up. time_ratio is the peer's time over ours, pair by
// pair: above 1 we are faster. Its median decides; minimum and maximum say how far
// to trust it. memory_ratio is our peak above the level before the piece over
// the peer's, gradients of the weights included: below 1 we need less. ours and
// peer are the medians of both in the row's unit. outside_products, of rows of lm, is
// the share of our time that is not spent in matrix products, measured in one more
// step; time in which a thread waits for another one around a product counts as outside.
//
// Every result says on what it was measured: the processor; the instruction set, to which -isa avx2 or -isa avx512 restricts
// both sides, libraries and our own kernels; steal, the share of all processors' time that a hypervisor gave to others during the
// row; and peak, in GFLOP/s, the best of five products of two float32 matrices of 2,048 x 2,048 with the row's threads, made
// after it. "ours of it" is the rate of our products over the whole step, gflops in -json, as a share of the peak; the peer's
// share is that over time_ratio where both make the same products. Ratios that were measured with a peak far below that of an
// idle machine, or with steal, should be measured again.
//
// The peers are the Python programs in the folder peer. They travel inside the
// binary and stay alive for all pairs of a row. -python, or the variable
// APERTURE_PYTHON, names the interpreter that has their packages. A row whose peer
// is missing is named with the command that installs it; the others are measured
// all the same, and the exit code is then 1.
//
// # Layers
//
// -what layers has no peer: it prints table 4 of Kumar and Tsvetkov (2019) for this machine. Its
// rows are whole training steps of one recurrent translator (model.kind = "attentional", two
// layers on either side) that differ in the output layer, on 64 pairs of 32 words each: the trained
// matrices of the decoder's input and of the output layer, biases apart, milliseconds a batch and
// samples a second, medians of three steps after one. The vocabularies are of 50,000 words, or of
// 16,000 pieces on the target's side; a sentence has as many pieces as words here, so that the
// table's gain of BPE is its smaller softmax alone. As in the paper the map to the vectors is not
// normalised, and there is no dropout. The rows named sweep are figure 1: samples a second with
// batches of 1 to 512, single steps from 64 on. A batch for which memory does not suffice is left
// out; the largest that would fit is not looked for, since a machine's memory is no property of the
// layer. -pairs plays no part here. In the file time_ratio, memory_ratio and peer are null, and
// layer has what the table shows. The eight rows take about two minutes on two cores of their own,
// the sweep four.
// Most rows of load have no peer, and no ratio: what a run on -load-pairs sentence pairs (5 million) waits for at its first
// start (learn 37,000 joint merges, then encode), at a second one and at a resume in the middle of an epoch, up to its first batch, what it waits for between
// two epochs (shuffle), and how much the heap holds meanwhile, garbage included. Their text is artificial, with words by
// Zipf's law; it is made once, in the folder aperture/bench of the user's cache, where 1.5 GB must be free.
//
// # Scale
//
// -what scale trains the same updates by two processes of one thread (ours) and by one process of two threads, which takes the two
// batches one after the other (peer), from the commands under runs/, on the built-in sample. What an update's sums of gradients
// cost the first process stands beside it: how much was sent through them, for how long, and how much of that it had to wait.
//
// # Caveats
//
// Text is prepared from Multi30k, which is looked for in $APERTURE_DATA, else in
// ../shared/data beside the module's root.
//
// Rows of text, and those of load that have a peer, run on one thread on both sides; Go's garbage collector has no other
// processor either. All other rows of load run on all processors, and other rows on -threads threads on both sides.
//
// Rows named NAME/compiled are raced against the same PyTorch program through torch.compile. It has worked through all
// pieces before anything is timed; how long compiling took stands in the row's config. An nn.LSTM it leaves as it is, and
// compiles what stands around it. Its loops are compiled with the
// instruction set of the row, and what stands outside them for the processor.
//
// translate/ctranslate2 searches with the same weights as CTranslate2, in float32 or, in rows that say so, with eight bits
// on both sides. Both lay out their weights before anything is timed. In float32 the row fails unless nearly all
// translations are the same, and prints how many are. At base's size a pair takes every fourth sentence, in turns.
//
// The Moses script is timed from the start of its process to the end, since that
// is how it is used; ours reads the same bytes from memory.
//
// A translator's training step is all that the training loop does for a batch; both sides
// compute the gradient's norm where it is clipped. Both sides see the same
// batches in the same order and use the same definition of label smoothing; their
// weights start from different draws.
//
// The two sides of a language model's row have the same weights. Before anything is timed
// both read two chunks without noise; if the loss or the gradient of any weight differs, the
// row fails. Words are drawn by Zipf's law, which decides how many scores a step of an
// adaptive softmax needs.
//
// Our memory is what our allocator counts; a peer's is resident memory of its
// process, after freed memory was handed back. The matrix library's own buffers
// are in the latter only; they are small beside the tensors of every row here.
//
// A method's row compares it with maximum likelihood, both in this process, so that
// its time_ratio is below 1 by what the method costs. The exception is method/mos,
// whose peer is the plain formulation of a mixture: it holds three and a half
// arrays of positions x components x words, 9.8 GB at the default of 1,400
// positions; with -positions it takes fewer.
//
// vmf_model compares two output layers of the same recurrent translator, so that the networks of
// its sides are equal and their losses are not. That the networks are equal is checked on small
// ones, with the same weights and a softmax on both sides.
package main
