// Package train is training: texts, loop, validation, checkpoints, and the results
// at the end.
//
// # Basics
//
// Main is the body of a training command:
//
//	func main() { train.Main(&spec) }
//
// The loop is in loop.go; everything else serves it. One update may span several
// accumulated batches; its loss is the sum over target tokens divided by the
// tokens of the whole update, and penalties are added once. What a run learns is
// a task: its texts, network and scores. The files of a task begin with its name.
//
// # Caveats
//
// A run that was killed and resumed gives the results of an undisturbed one, on
// the same machine with the same number of threads. What may differ is time.
package train
