// Package train trains a model: it reads the texts, runs the loop, validates, saves
// checkpoints, and tests at the end.
//
// # Basics
//
// Main is the body of a training command:
//
//	func main() { train.Main(&spec) }
//
// The loop is in loop.go; everything else serves it. One update may span several
// accumulated batches; its loss is the sum over target tokens divided by the
// tokens of the whole update, and penalties are added once. There are two tasks,
// translation and language models, each with its own texts, networks and scores; the files
// of a task begin with its name.
//
// # Caveats
//
// A run that was killed and resumed gives the results of an undisturbed one, on
// the same machine with the same number of threads and the same APERTURE_ISA,
// except for times.
// Products of matrices are cut in one way for every number of threads (MKL's
// strict mode). A run that an earlier version began without it keeps its bits with
// MKL_CBWR=OFF in the environment.
package train
