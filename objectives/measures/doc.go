// Package measures says how a matrix of word vectors fills its space: isotropy, mean cosine, singular values and their
// decay against a prior, hubness, and the projection to two dimensions that the plots show. Everything is computed in
// float64 on the CPU.
package measures
