// Package objectives holds output layers: how the matrix of word vectors is
// parameterised, how hidden states are scored against targets, and what the
// weights pay.
//
// # Basics
//
//	output layer = Embedding x Likelihood, perturbed or not, + Regularizers
//
// [Settings] name a method, a point in that product; [New] makes its pieces for a
// vocabulary and a width, and [Output] runs them. [Table] lists the methods.
// A model ends at hidden states and, where its input is tied to the output
// layer, reads word vectors through [Output.Lookup]. [NewTable] makes the tables
// of models that are not tied: a method shapes the output's matrix alone, and
// what is tied to it.
//
// Scaling is fixed once. A likelihood is summed over the targets of a batch and
// multiplied by 1/(targets of the whole update). Penalties depend on weights
// alone and are evaluated once per update with weight 1. So an update has the
// same gradients however it is cut into batches.
//
// Perplexity comes from the clean negative log-likelihood: no smoothing,
// perturbation or penalty.
//
// [Measure] says how a matrix of word vectors fills its space.
//
// # Caveats
//
// With a factored embedding nothing may hold on to W: its parameters are U, s
// and V, and Matrix makes a copy for measures. Averages of weights average the
// three apart. The average of orthonormal matrices is not orthonormal: over five
// checkpoints 20 updates apart, |U^T U - I|_F went from 0.026 to 0.21, and s was up
// to 0.7% away from W's singular values. [Output.Normalise] writes the same W with
// orthonormal columns again. To average W itself would gain nothing: over 12
// iterates of plain gradient descent, 10 updates apart, where |U^T U - I|_F of the
// means is 0.68, the means of U, s and V have a validation perplexity of 376.5, the
// mean of W of 377.6 (they differ by 0.7% of |W|_F), the last iterate of 459.2.
//
// A vocabulary smaller than the width has as many singular values as rows that
// are not padding.
//
// Kept tensors are freed by [Output.Free], parameters by their list.
package objectives
