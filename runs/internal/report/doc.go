// Package report records how a run went and shows it: metrics.jsonl, a TensorBoard event file, plots, and report.html.
//
// # Basics
//
// A training run writes a Record for each line of metrics.jsonl with a Metrics writer, and the same numbers to an
// Events writer for TensorBoard. ReadRecords reads the lines back, Draw draws every plot they have data for, and
// Page.Write puts plots, results, configuration and samples on one page that needs no other file.
//
// All functions take plain numbers, slices and maps.
//
// A line of metrics.jsonl has one of three splits. Every train.log_every updates, train: loss, ppl (clean, since the
// last line), objective (what was minimised, penalties not included), lr, tokens_per_s, grad_norm. At each validation,
// valid: loss, ppl, and bleu where it decodes. Every report.every updates, or at each validation where that is 0,
// output: measures of the output matrix, which slow no other update down,
//
//	i1 i2 i1_both_signs i2_both_signs    isotropy
//	mean_cosine                          over pairs of rows
//	mean_share                           of the squares, by the mean row
//	iso_score                            how equal variances are along principal components
//	frobenius                            norm
//	sigma_max sigma_min sigma_ratio      range of the singular values
//	effective_rank
//	singular_values cosine_histogram     lists
//	orthogonality prior ...              the method's penalties, weighted, by name
//	orthogonality_u orthogonality_v      |U^T U - I| and |V^T V - I| of a factored matrix
//	adversarial_gain                     what the perturbation adds to the loss of the last update
//
// TensorBoard has the same numbers as NAME/SPLIT.
//
// # Caveats
//
// JSON has no NaN and no infinities: an undefined number is null in metrics.jsonl, NaN once read back, and left out of
// plots and of TensorBoard.
//
// A resumed run cuts metrics.jsonl back to its checkpoint; an event file cannot be cut, so NewEvents begins with a mark
// that makes TensorBoard drop what an earlier process wrote after that step.
package report
