// Command bench races Aperture against the plain programs a careful user would
// write or install, on this machine, the two in turn, and prints the ratios.
//
// # Basics
//
//	go run ./runs/bench -what text
//	go run ./runs/bench -what translation -json speed.json
//	go run ./runs/bench -what objectives -only method -pairs 15
//
// A row is one piece of work, done alternately by us and by a peer (A B A B ...)
// after both have warmed up. time_ratio is the peer's time over ours, pair by
// pair: above 1 we are faster. Its median decides; minimum and maximum say how far
// to trust it. memory_ratio is our peak above the level before the piece over
// the peer's, gradients of the weights included: below 1 we need less. ours and
// peer are the medians of both in the row's unit. outside_products, of rows of lm, is
// the share of our time that went into anything but matrix products, in one more
// step; waiting for another thread inside such a product's layer counts as outside.
//
// The peers are the Python programs in the folder peer. They travel inside the
// binary and stay alive for all pairs of a row. -python, or the variable
// APERTURE_PYTHON, names the interpreter that has their packages. A row whose peer
// is missing is named with the command that installs it; the others are measured
// all the same, and the exit code is then 1.
//
// # Caveats
//
// Text is prepared from Multi30k, which is looked for in $APERTURE_DATA, else in
// ../shared/data beside the module's root.
//
// Rows of text run on one thread on both sides: in Go the garbage collector has
// no other processor either. The others run on -threads threads on both sides.
//
// The Moses script is timed from the start of its process to the end, since that
// is how it is used; ours reads the same bytes from memory.
//
// A translator's training step is what the training loop makes of a batch; the
// gradient's norm is taken by both sides where it is clipped. Both sides see the same
// batches in the same order and use the same definition of label smoothing; their
// weights start from different draws.
//
// A language model's weights are the peer's too. Before anything is timed both sides
// read two chunks without noise, and a loss or a gradient of any weight that differs
// ends the row. Words are drawn by Zipf's law, which for adaptive softmax decides how
// many scores a step needs.
//
// Our memory is what our allocator counts; a peer's is resident memory of its
// process, after freed memory was handed back. The matrix library's own buffers
// are in the latter only; they are small beside the tensors of every row here.
//
// A method's row races it against maximum likelihood in this one process, so
// its time_ratio is below 1 by what the method costs. The exception is method/mos,
// whose peer is the plain formulation of a mixture: it holds three and a half
// arrays of positions x components x words, 9.8 GB at the default of 1,400
// positions, and -positions takes fewer where that is too much.
//
// vmf_model races two output layers of one recurrent translator, so its sides have equal
// networks and no equal loss. That the networks are equal is checked with a softmax on
// both sides, on small ones with the same weights.
package main
