// Package measures says how a matrix of word vectors fills its space: isotropy, mean cosine, singular values and their
// decay against a prior, hubness, and the projection to two dimensions that the plots show; and what papers on
// degenerate word vectors draw and reason about: principal components, distances, convex hulls, margins. Everything is
// computed in float64 on the CPU.
//
// Measure and MeasurePoints measure a matrix; Contexts the hidden states that it scores.
package measures
