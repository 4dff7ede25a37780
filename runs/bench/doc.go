// Command bench compares Aperture's speed and memory with those of the plain programs that a careful user would write
// or install. It runs the two in turn on this machine and prints the ratios.
//
// # Basics
//
//	go run ./runs/bench -what text
//	go run ./runs/bench -what translation -json speed.json
//	go run ./runs/bench -what objectives -only method -pairs 15
//
// A row is one piece of work, done alternately by us and by a peer (A B A B ...) after both have warmed up. time_ratio
// is the peer's time over ours, pair by pair: above 1 we are faster. Its median decides; minimum and maximum say how
// far to trust it. memory_ratio is our peak above the level before the piece over the peer's, gradients of the weights
// included: below 1 we need less. ours and peer are the medians of both in the row's unit. outside_products is the
// share of our time that is not spent in matrix products, measured in one more step; time in which a thread waits for
// another one around a product counts as outside.
//
// Every result says on what it was measured: the processor; the instruction set, to which -isa avx2 or -isa avx512
// restricts both sides, libraries and our own kernels; steal, the share of all processors' time that a hypervisor gave
// to others; and peak, in GFLOP/s, the best of five products of two matrices of 2,048 x 2,048 in the row's precision
// and with its threads, made after it. "ours of it" is the rate of our products over the whole step (gflops in -json)
// as a share of the peak. Measure again where the peak is far below that of an idle machine, or where time was stolen.
//
// The peers are the Python programs in the folder peer, which travel inside the binary. -python, or the variable
// APERTURE_PYTHON, names the interpreter that has their packages. A row whose peer is missing is named with the command
// that installs it; the others are measured all the same, and the exit code is then 1.
//
// -device cuda has both sides of translation, objectives, lm and layers work on a GPU, in full float32 where no row
// says bfloat16. The rows against CTranslate2 are for the CPU alone. A piece then ends when the GPU has done it, memory
// is that of the tensors on it, and outside_products is not known.
//
// # Suites
//
// text and the rows of load with a peer run on one thread on both sides, Go's garbage collector included. Text is
// prepared from Multi30k, which is looked for in $APERTURE_DATA, else in ../shared/data beside the module's root. The
// Moses script is timed from the start of its process to the end, since that is how it is used.
//
// translation and lm are training steps, all that the training loop does for a batch, and searches. NAME/compiled is
// raced against the same PyTorch program through torch.compile, which has worked through all pieces before anything is
// timed; config says how long compiling took. In NAME/recompute both sides compute each layer once more in the backward
// pass. attention is causal attention alone, to operands in bfloat16. Both sides see the same batches in the same
// order. Translators start from different draws; language models and the recurrent translator are checked first:
// without noise both sides must give the same loss and gradients. translate/ctranslate2 searches with equal weights, in
// float32 or with eight bits on both sides; in float32 the row fails unless nearly all translations are the same. At
// base's size a pair takes every fourth sentence, in turns. In translate/alone both sides are given one sentence at a
// time; config has the median and the 99th percentile of what one takes, over all pairs.
//
// objectives and layers compare methods with maximum likelihood, both in this process, so that time_ratio is below 1
// by what the method costs. The exception is method/mos, whose peer is the plain formulation of a mixture: it holds
// three and a half arrays of positions x components x words, 9.8 GB at the default of 1,400 positions; -positions
// makes it fewer. layers is table 4 of Kumar and Tsvetkov (2019): one recurrent translator that differs in the output
// layer, on 64 pairs of 32 words; config has the trained parameters.
//
// load has rows without a peer, and so without a ratio: what a run on -load-pairs sentence pairs waits for at its first
// start (learn 37,000 joint merges, then encode), at a second one and at a resume in the middle of an epoch, up to its
// first batch, between two epochs (shuffle), and how much the heap holds meanwhile, garbage included. The text is
// artificial; it is made once, in the folder aperture/bench of the user's cache, where 1.5 GB must be free.
//
// scale trains the same updates by two processes of one thread (ours) and by one process of two threads, which takes
// the two batches one after the other (peer), from the commands under runs/, on the built-in sample. config has what
// the sums of gradients cost the first process.
//
// # Caveats
//
// On a processor our memory is what our allocator counts; a peer's is resident memory of its process, after freed
// memory was handed back. The matrix library's own buffers are in the latter only; they are small beside the tensors of
// every row here.
package main
