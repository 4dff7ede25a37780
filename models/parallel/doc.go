// Package parallel trains one model by several processes, on one machine or on many: data parallel, each with a copy of
// the weights and a share of every update's batches.
//
// # Basics
//
// [FromEnvironment] finds out whether this process is one of several: from the variables that torchrun, Kubernetes'
// PyTorchJob and Slurm's srun set, or that [Launch] sets for the processes that it starts. [Join] makes it one of the
// [Peers], whose methods are collective: every process calls the same ones in the same order. A nil *Peers is the only
// process, and its methods do nothing, so that a training loop reads the same with one process and with many.
//
// What an update computes does not depend on how many processes there are, but for the order of float32 sums: batches
// keep their places in the update, and with them their random draws ([Draws]); gradients are summed before penalties,
// clipping and the optimizer's step, which all processes then do alike.
//
// # Caveats
//
// A process that fails tells the others, by the store that they met in, and each ends with the sentence of the first
// that failed. One that cannot tell is missed: every process gives a sign of life twice a second, and watches that of
// its successor.
package parallel
