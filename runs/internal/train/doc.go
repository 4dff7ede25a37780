// Package train trains a model: it reads the texts, runs the loop, validates, saves checkpoints, and tests at the end.
//
// # Basics
//
// Main is the body of a training command: func main() { train.Main("wmt14") }.
//
// The loop is in loop.go; everything else serves it. One update may span several accumulated batches; its loss is the
// sum over target tokens divided by the tokens of the whole update, and penalties are added once. The files of each of
// the two tasks, translation and language models, begin with its name.
//
// # Caveats
//
// A run that was killed and resumed gives the results of an undisturbed one, except for times, on the same machine with
// the same number of threads and the same APERTURE_ISA. Products of matrices are cut in one way for every number of
// threads (MKL's strict mode). A run that an earlier version began without it keeps its bits with MKL_CBWR=OFF in the
// environment.
package train
