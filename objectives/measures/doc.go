// Package measures says how a matrix of word vectors fills its space: isotropy, mean cosine, singular values and their
// decay against a prior, hubness, and the projection to two dimensions that the plots show; and what papers on
// degenerate word vectors draw and reason about: principal components, distances, convex hulls, margins. Everything is
// computed in float64 on the CPU.
//
// # Basics
//
//	m := measures.Measure(w_VD)
//	fmt.Println(m.MeanCosine)
//
// MeasurePoints measures the matrix as points in space, and Contexts the hidden states that it scores.
//
// # Caveats
//
// A measure that a matrix leaves undefined, as all cosines of a matrix of zeros, is NaN. What compares rows with each
// other takes a limit; of a larger vocabulary, rows at equal distances stand for all.
package measures
