// Package objectives holds output layers: how the matrix of word vectors W is parameterised, how hidden states are
// scored against targets, and which penalties and constraints act on W and on the states.
//
// # Basics
//
//	output layer = Embedding x Likelihood, perturbed or not, + penalties of the states + Regularizers
//
// [Settings] name a method, which is a choice of these pieces; [New] makes the pieces for a vocabulary and a width, and
// [Output] runs them. [Methods] lists the methods, and docs/methods.md explains them. A model ends at hidden states;
// where its input is tied to the output layer, it reads word vectors through [Output.Lookup]. Where it is not,
// [NewTable] makes a table for the input, because a method changes the output matrix only, and what is tied to it.
//
// Every method scales its loss in the same way. A likelihood is summed over the targets of a batch and multiplied by
// 1/(targets of the whole update). Penalties of the weights are evaluated once per update with weight 1. So an update
// has the same gradients however it is cut into batches, except with headless, whose loss compares the targets of one
// batch, and istar, which takes the covariance of each batch.
//
// Perplexity comes from the clean negative log-likelihood: without label smoothing, perturbation, terms and penalties.
//
// Package measures says how evenly a matrix of word vectors fills its space.
//
// # Caveats
//
// A factored embedding has no tensor W that could be kept: its parameters are U, s and V, and Matrix multiplies them
// out for measures. An average of weights averages each of the three, and the average of orthonormal matrices is not
// orthonormal: [Output.FixAverage] writes the same W with orthonormal columns again. Averaging W itself would gain
// nothing (docs/results/spectrum.md).
//
// A vocabulary that is smaller than the width has one singular value for each row that is not padding.
//
// [Output.Free] frees the tensors that an output layer keeps beside its parameters;
// the parameters are freed by the list that holds them.
package objectives
